#include "lab/report/frame.h"

#include <fmt/format.h>

#include "lab/report/assets.h"
#include "lab/report/html.h"

namespace weft::lab {

std::string html_frame(std::string_view title, std::string_view header, std::string_view main) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n<header>{}</header>\n<main>\n{}</main></body></html>\n",
      escape(title), kPageCss, header, main);
}

}  // namespace weft::lab
