#include "gateway/listen_address.h"

#include <cstdint>
#include <string_view>

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include "base/whole_number.h"
#include "language/findings.h"

namespace millrace {

Result<boost::asio::ip::tcp::endpoint> parse_listen_address(const std::string& text,
                                                            bool has_token) {
  const auto malformed = [&] {
    return fail("gateway.malformed_address",
                fmt::format("{} is not an address to listen on; write 127.0.0.1:8780, [::1]:8780 "
                            "or :8780, which is 127.0.0.1:8780",
                            in_quotes(text)));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return malformed();
  std::string host = text.substr(0, colon);
  const auto port = whole_number(std::string_view(text).substr(colon + 1), UINT16_MAX);
  if (!port) return malformed();

  if (host == "localhost" || host.empty()) host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (error) return malformed();
  if (!address.is_loopback() && !has_token) {
    return fail("gateway.refused_address",
                fmt::format("{} is reachable from other machines, which could do everything "
                            "without a token; create one with `openssl rand -hex 32`, store it in "
                            "a file and name the file by --token-file or MILLRACE_TOKEN_FILE; or "
                            "listen on 127.0.0.1 or [::1]",
                            in_quotes(text)));
  }
  return boost::asio::ip::tcp::endpoint(address, static_cast<uint16_t>(*port));
}

}  // namespace millrace
