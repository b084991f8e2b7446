"""Checks and bounds what code shows: what a kernel sends is data, built anew from the fields that were checked."""

import re

from supervisor_wire import Violation, encode

TEXTS = ("text", "html", "markdown")
MEDIA_TYPES = ("image/png", "image/jpeg", "image/svg+xml")
# The smallest forms first: where not all fit, most of them do.
FORMS = ("text", "table", "markdown", "json", "image", "html")
MAX_DISPLAYS = 256
MAX_ROWS = 1000
MAX_COLUMNS = 200
BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
MAX_INTEGER = 2**53 - 1


class Displays:
    """What one execution showed, all of it together within a limit of bytes."""

    def __init__(self, limit):
        self.left = limit
        self.shown = []
        self.omitted = 0

    def add(self, message):
        display = message.get("display")
        if not isinstance(display, dict):
            raise Violation("a display is malformed")
        if len(self.shown) >= MAX_DISPLAYS:
            self.omitted += 1
            return
        omitted = display.get("omitted")
        if not isinstance(omitted, list) or not all(form in FORMS for form in omitted):
            raise Violation("a display is malformed")
        kept = {}
        omitted = set(omitted)
        for form in FORMS:
            if form not in display:
                continue
            content = CHECKS[form](display[form])
            size = len(encode(content))
            if size > self.left:
                omitted.add(form)
            else:
                self.left -= size
                kept[form] = content
        if not kept:
            self.omitted += 1
            return
        self.shown.append({**kept, "result": display.get("result") is True, "omitted": sorted(omitted)})


def check_text(content):
    if not isinstance(content, str):
        raise Violation("a display's text is malformed")
    return content


def check_image(content):
    if not isinstance(content, dict) or content.get("media_type") not in MEDIA_TYPES:
        raise Violation("a display's image is malformed")
    if not isinstance(content.get("data"), str) or BASE64.fullmatch(content["data"]) is None:
        raise Violation("a display's image is malformed")
    return {"media_type": content["media_type"], "data": content["data"]}


def check_table(content):
    columns, rows, total = content.get("columns"), content.get("rows"), content.get("total_rows")
    if not isinstance(columns, list) or len(columns) > MAX_COLUMNS or not all(isinstance(name, str) for name in columns):
        raise Violation("a table's columns are malformed")
    if not isinstance(rows, list) or len(rows) > MAX_ROWS or not all(isinstance(row, list) and len(row) == len(columns) for row in rows):
        raise Violation("a table's rows are malformed")
    if type(total) is not int or not 0 <= total <= MAX_INTEGER:
        raise Violation("a table's count is malformed")
    return {"columns": columns, "rows": rows, "total_rows": total, "truncated": content.get("truncated") is True}


CHECKS = {**dict.fromkeys(TEXTS, check_text), "json": lambda content: content, "image": check_image, "table": check_table}
