// The errors of messages that are not valid events. Users see the codes as the reason of a dead
// letter and as the `code` of an HTTP answer, so a code never changes its meaning and is never
// reused.
#pragma once

#include <array>

namespace millrace {

/// One kind of malformed event: the code of its Error and the meaning of that code.
struct EventError {
  const char* code;
  const char* meaning;
};

// Errors of a message as a whole.
inline constexpr EventError kEventTooLarge{"event.too_large",
                                           "The event is larger than the limit on one event."};
inline constexpr EventError kEventBatchTooLarge{
    "event.batch_too_large", "The batch holds more events than the limit on one batch."};
inline constexpr EventError kEventNotUtf8{"event.not_utf8", "A JSON text is not valid UTF-8."};
inline constexpr EventError kEventMalformedJson{"event.malformed_json",
                                                "An event in the JSON format is not a JSON text."};
inline constexpr EventError kEventDepth{"event.depth",
                                        "The JSON text nests deeper than 128 levels."};
inline constexpr EventError kEventNotObject{"event.not_object", "The JSON text is not an object."};
inline constexpr EventError kEventNotArray{"event.not_array",
                                           "The JSON text of a batch is not an array."};
inline constexpr EventError kEventContentType{"event.content_type",
                                              "The message's content type or `datacontenttype` is "
                                              "not a media type, or it has a charset other "
                                              "than UTF-8 where UTF-8 is required."};
inline constexpr EventError kEventUnsupportedFormat{
    "event.unsupported_format", "The event is in an unsupported format; only JSON is supported."};
inline constexpr EventError kEventHeaderEncoding{
    "event.header_encoding",
    "A header's value is not quoted or percent-encoded as the bindings require, or is not UTF-8."};

// Errors of attributes.
inline constexpr EventError kEventMissingAttribute{
    "event.missing_attribute", "A required attribute (specversion, id, source, type) is absent."};
inline constexpr EventError kEventEmptyAttribute{
    "event.empty_attribute", "A core attribute is present, but its text is empty."};
inline constexpr EventError kEventDuplicateAttribute{"event.duplicate_attribute",
                                                     "An attribute or the data is given twice."};
inline constexpr EventError kEventSpecVersion{"event.specversion", "`specversion` is not 1.0."};
inline constexpr EventError kEventAttributeName{
    "event.attribute_name",
    "The name of an attribute contains characters other than lower-case letters and digits, or is "
    "reserved."};
inline constexpr EventError kEventAttributeType{
    "event.attribute_type",
    "The value of an attribute has a JSON type that this attribute, or every attribute, refuses."};
inline constexpr EventError kEventAttributeValue{
    "event.attribute_value",
    "The value of an attribute has the right type but is not valid: it contains a control "
    "character, is not a URI, or is an integer of more than 32 bits."};
inline constexpr EventError kEventTooManyAttributes{
    "event.too_many_attributes",
    "The event has more than 256 attributes beside those of the specification."};
inline constexpr EventError kEventTime{"event.time", "`time` is not an RFC 3339 timestamp."};

// Errors of the data.
inline constexpr EventError kEventDataConflict{"event.data_conflict",
                                               "Both `data` and `data_base64` are present."};
inline constexpr EventError kEventDataBase64{"event.data_base64",
                                             "`data_base64` is not a string of padded Base64."};
inline constexpr EventError kEventMalformedData{
    "event.malformed_data",
    "In binary mode, the content type is JSON and the body is not a JSON text."};

/// All errors of this file, in the order of their definition.
inline constexpr std::array kEventErrors = {kEventTooLarge,
                                            kEventBatchTooLarge,
                                            kEventNotUtf8,
                                            kEventMalformedJson,
                                            kEventDepth,
                                            kEventNotObject,
                                            kEventNotArray,
                                            kEventContentType,
                                            kEventUnsupportedFormat,
                                            kEventHeaderEncoding,
                                            kEventMissingAttribute,
                                            kEventEmptyAttribute,
                                            kEventDuplicateAttribute,
                                            kEventSpecVersion,
                                            kEventAttributeName,
                                            kEventAttributeType,
                                            kEventAttributeValue,
                                            kEventTooManyAttributes,
                                            kEventTime,
                                            kEventDataConflict,
                                            kEventDataBase64,
                                            kEventMalformedData};

}  // namespace millrace
