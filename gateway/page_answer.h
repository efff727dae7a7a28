// The answers with which the server shows the page: a file in the form that the browser accepts, or
// only the news that its copy is current. Each has the headers that keep the page from running what
// is not its own. Pure.
#pragma once

#include <string_view>

#include "cloudevents/headers.h"
#include "gateway/exchange.h"
#include "gateway/page_files.h"

namespace millrace {

/// The answer to a GET of the file at `path` with these request headers: 200 with the file, or 304
/// if a tag of If-None-Match is that of the file. Accept-Encoding decides between the forms of the
/// file; each has a tag of its own. Problems with status 404: `page.none`, if `files` is empty;
/// `request.not_found`, if no file has this path.
Response page_answer(PageFiles files, std::string_view path, const Headers& headers);

/// The answer to a GET of an address such as `/ns/shop/instances?status=failed`: 302 to the same
/// place of the page, which is behind the `#` of its address: `/#/shop/instances?status=failed`.
/// The Location is relative, so that it is right behind a proxy that adds a prefix. `target` is the
/// path and the query as sent. Problem `page.none`, if `files` is empty.
Response place_answer(PageFiles files, std::string_view target);

}  // namespace millrace
