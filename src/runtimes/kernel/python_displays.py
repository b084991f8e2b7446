"""What code shows beside its output: `display(…)`, the last expression's rich forms, and figures that were left open."""

import base64
import importlib.abc
import importlib.util
import json
import sys

from python_report import clip, render
from python_values import PLAIN, to_json

# Method of IPython's protocol → the form that it gives.
METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_json_": "application/json",
}
FORMS = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "application/json": "json"}
IMAGES = ("image/png", "image/jpeg", "image/svg+xml")
MAX_ROWS = 200
MAX_COLUMNS = 50
MAX_FIGURES = 50
# A frame must hold a display whole.
MAX_FORM_BYTES = 4 * 1024 * 1024


class Displays:
    """Turns values into displays and hands them to `send`."""

    def __init__(self, send, limit):
        self.send = send
        self.limit = min(limit, MAX_FORM_BYTES)

    def display(self, *values, **_):
        """Shows values in the richest forms that they have: text, HTML, Markdown, JSON, images, tables."""
        for value in values:
            self.show(value)

    def show(self, value):
        if close_figure(value):
            return self.send_figure(value, False)
        forms = rich_forms(value, self.limit)
        if isinstance(value, (dict, list)) and not forms:
            encoded, _, lossy = to_json(value, self.limit)
            if encoded is not None and not lossy:
                forms["json"] = encoded
        self.send(self.bound({"text": clip(render(value)), **forms}, False))

    def show_result(self, value, text):
        """Shows the last expression's value if it has more than text."""
        if type(value) in PLAIN or type(value) in (dict, list, tuple):
            return
        if close_figure(value):
            self.send_figure(value, True)
            return
        forms = rich_forms(value, self.limit)
        if forms:
            self.send(self.bound({"text": text, **forms}, True))

    def show_figures(self):
        """Shows and closes the figures that pyplot holds."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "get_fignums"):
            return
        for number in list(pyplot.get_fignums())[:MAX_FIGURES]:
            figure = pyplot.figure(number)
            pyplot.close(figure)
            if figure.axes or figure.texts or figure.images:
                self.send_figure(figure, False)
        pyplot.close("all")

    def send_figure(self, figure, is_result):
        from io import BytesIO

        buffer = BytesIO()
        try:
            figure.savefig(buffer, format="png", bbox_inches="tight")
        except Exception as error:
            print(f"a figure could not be drawn: {type(error).__name__}: {error}", file=sys.stderr)
            return
        self.send(self.bound({"text": clip(render(figure)), "image": to_image("image/png", buffer.getvalue())}, is_result))

    def bound(self, forms, is_result):
        kept, omitted, left = {}, [], self.limit
        for form, content in forms.items():
            size = len(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
            if size > left:
                omitted.append(form)
            else:
                kept[form] = content
                left -= size
        return {**kept, "result": is_result, "omitted": omitted}


def close_figure(value):
    """Says whether it is a figure, and takes it from pyplot so that it is not shown once more."""
    figure = sys.modules.get("matplotlib.figure")
    if figure is None or not isinstance(value, getattr(figure, "Figure", ())):
        return False
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(value)
    return True


def rich_forms(value, limit):
    """Asks a value for its forms, by IPython's protocol; what raises or answers nonsense has no such form."""
    kind = type(value)
    if isinstance(value, type) or kind in PLAIN:
        return {}
    forms = {}
    bundle = call(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(bundle, dict):
        for mime, data in bundle.items():
            add_form(forms, mime, data, limit)
    for method, mime in METHODS.items():
        if hasattr(kind, method):
            add_form(forms, mime, call(value, method), limit)
    # What the object says it looks like as text is its repr's business.
    forms.pop("text", None)
    table = to_table(value)
    if table is not None:
        forms["table"] = table
    return forms


def call(value, method, **keywords):
    # Looked up on the class: an object that answers to every name is no rich object.
    function = getattr(type(value), method, None)
    if function is None:
        return None
    try:
        answer = function(value, **keywords)
        # Data may come with metadata, which nobody here reads.
        return answer[0] if isinstance(answer, tuple) and answer else answer
    except Exception:
        return None


def add_form(forms, mime, data, limit):
    if data is None or not isinstance(mime, str):
        return
    if mime == "application/json":
        encoded, too_large, _ = to_json(data, limit)
        if encoded is not None and not too_large:
            forms["json"] = encoded
    elif mime in FORMS and isinstance(data, str):
        forms.setdefault(FORMS[mime], data)
    elif mime in IMAGES and isinstance(data, (bytes, bytearray, str)):
        image = to_image(mime, data)
        # A raster image beats a drawing: more readers can show it.
        if image is not None and ("image" not in forms or forms["image"]["media_type"] == "image/svg+xml"):
            forms["image"] = image


def to_image(mime, data):
    if mime == "image/svg+xml":
        data = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
    elif isinstance(data, str):
        try:
            data = base64.b64decode(data, validate=False)
        except ValueError:
            return None
    return {"media_type": mime, "data": base64.b64encode(data).decode("ascii")}


def to_table(value):
    """The start of a pandas DataFrame or Series, its index as the first column unless it only counts."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, (getattr(pandas, "DataFrame", ()), getattr(pandas, "Series", ()))):
        return None
    try:
        frame = value.to_frame() if isinstance(value, pandas.Series) else value
        count, width = frame.shape
        head = frame.iloc[:MAX_ROWS, :MAX_COLUMNS]
        if not isinstance(frame.index, pandas.RangeIndex):
            head = head.reset_index()
        # Twice the same column name would make `orient` fail.
        columns = [str(name) for name in head.columns]
        head = head.set_axis(range(len(columns)), axis=1)
        rows = json.loads(head.to_json(orient="values", date_format="iso", default_handler=str))
        truncated = count > MAX_ROWS or width > MAX_COLUMNS
        return {"columns": columns, "rows": rows, "total_rows": int(count), "truncated": truncated}
    except Exception:
        return None


# -- modules that are bent as user code imports them


class Hooks(importlib.abc.MetaPathFinder):
    """Prepares pyplot for a machine without a screen, and stands in for IPython.display where there is none."""

    def __init__(self, displays):
        self.displays = displays
        self.busy = False

    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib.pyplot":
            return self.wrap(name, self.prepare_pyplot)
        if name == "IPython.display":
            return self.wrap(name, self.prepare_ipython)
        return None

    def wrap(self, name, prepare):
        if self.busy:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is not None and spec.loader is not None:
            spec.loader = Wrapped(spec.loader, prepare)
        return spec

    def prepare_pyplot(self, module):
        displays = self.displays
        module.switch_backend("agg")
        module.show = lambda *_, **__: displays.show_figures()
        module.Figure.show = lambda figure, *_, **__: displays.show(figure)

    def prepare_ipython(self, module):
        module.display = self.displays.display


class Wrapped(importlib.abc.Loader):
    """Loads as another loader does, and then changes what was loaded."""

    def __init__(self, loader, prepare):
        self.loader = loader
        self.prepare = prepare

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        try:
            self.prepare(module)
        except Exception as error:
            print(f"{module.__name__} cannot show figures here: {error}", file=sys.stderr)

    def __getattr__(self, name):
        # Resources of the package are the loader's business.
        return getattr(self.loader, name)


class Shown:
    """Base of what stands in for IPython's display classes."""

    mime = "text/plain"

    def __init__(self, data=None, url=None, filename=None, **_):
        if data is None and filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        if data is None:
            raise ValueError("there is no network here: give data or a filename" if url else "give data or a filename")
        self.data = data

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = self.data
        if self.mime in IMAGES[:2] and isinstance(data, str):
            with open(data, "rb") as file:
                data = file.read()
        mime = "image/jpeg" if self.mime == "image/png" and bytes(data[:2]) == b"\xff\xd8" else self.mime
        if mime not in IMAGES and isinstance(data, bytes):
            data = data.decode("utf-8", "replace")
        return {mime: data}


class Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last of all finders: answers for IPython.display when IPython is not installed."""

    def __init__(self, displays):
        self.displays = displays

    def find_spec(self, name, path=None, target=None):
        if name not in ("IPython", "IPython.display"):
            return None
        return importlib.util.spec_from_loader(name, self, is_package=name == "IPython")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "IPython":
            module.get_ipython = lambda: None
            module.version_info = (8, 0)
            return
        module.display = self.displays.display
        module.clear_output = lambda *_, **__: None
        kinds = {"HTML": "text/html", "Markdown": "text/markdown", "JSON": "application/json", "Pretty": "text/plain"}
        kinds |= {"SVG": "image/svg+xml", "Image": "image/png"}
        for name, mime in kinds.items():
            setattr(module, name, type(name, (Shown,), {"mime": mime, "__module__": module.__name__}))


def install(displays):
    sys.meta_path.insert(0, Hooks(displays))
    sys.meta_path.append(Stand(displays))
