import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Kernel, SandboxInstance } from "../../src/core/runtime.ts";
import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { run } from "../kit/runtime-conformance.ts";

const never = new AbortController().signal;
const status = await new LocalRuntime().check(never);

// What pyplot is to the kernel, for machines without it; a picture's first bytes stand for the picture.
const PYPLOT = `
import os
os.makedirs("/workspace/matplotlib", exist_ok=True)
open("/workspace/matplotlib/__init__.py", "w").write("")
open("/workspace/matplotlib/figure.py", "w").write("""
class Figure:
    axes, texts, images = [1], [], []
    def __init__(self, name): self.name = name
    def __repr__(self): return f"<Figure {self.name}>"
    def savefig(self, file, **_):
        if self.name == "bad": raise RuntimeError("cannot draw")
        file.write(b"\\\\x89PNG" + self.name.encode())
""")
open("/workspace/matplotlib/pyplot.py", "w").write("""
from matplotlib.figure import Figure
backend, figures = None, {}
def switch_backend(name):
    global backend
    backend = name
def plot(name): figures[len(figures) + 1] = Figure(name); return figures[len(figures)]
def get_fignums(): return list(figures)
def figure(number): return figures[number]
def close(which):
    for number in [n for n, f in figures.items() if which == "all" or f is which]: del figures[number]
def show(): raise RuntimeError("no screen")
""")
`;
const png = (name: string) => ({
  mediaType: "image/png",
  base64: Buffer.from(`\x89PNG${name}`, "latin1").toString("base64"),
});

describe.runIf(status.languages.python?.available === true)("the Python kernel", () => {
  const runtime = new LocalRuntime({ limits: { memoryMiB: 256, resultBytes: 64 * 1024 } });
  let sandbox: SandboxInstance;
  let python: Kernel;
  beforeAll(async () => {
    sandbox = await runtime.create({}, never);
    python = await sandbox.openKernel("python", never);
  });
  afterAll(() => runtime.close());

  it("shows the last expression and display() in every form of IPython's protocol", async () => {
    const code = `class Rich:
    def _repr_html_(self): return "<b>hi</b>"
    def _repr_markdown_(self): return "**hi**"
    def _repr_json_(self): return {"hi": 1}
    def _repr_png_(self): return b"\\x89PNG"
    def __repr__(self): return "Rich()"
display(Rich(), "plain")
Rich()`;
    const { displays, value, text, lossy } = await run(python, code);
    const forms = {
      text: "Rich()",
      html: "<b>hi</b>",
      markdown: "**hi**",
      json: { hi: 1 },
      image: png(""),
      omitted: [],
    };
    expect(displays).toEqual([
      { ...forms, isResult: false },
      { text: "plain", isResult: false, omitted: [] },
      { ...forms, isResult: true },
    ]);
    expect([value, text, lossy]).toEqual([null, "Rich()", ["$: Rich"]]);
  });

  it("stands in for IPython.display where there is no IPython", async () => {
    const { displays } = await run(
      python,
      "from IPython.display import display, HTML, SVG\ndisplay(HTML('<i>'), SVG('<svg/>'))",
    );
    expect(displays).toMatchObject([
      { html: "<i>" },
      { image: { mediaType: "image/svg+xml", base64: Buffer.from("<svg/>").toString("base64") } },
    ]);
  });

  it("shows and closes the figures that are open at the end of a cell, and at show()", async () => {
    await run(python, PYPLOT);
    const drawn = await run(
      python,
      "import matplotlib.pyplot as plt\nplt.plot('a')\nplt.show()\nplt.plot('b'); plt.plot('c'); None",
    );
    expect(drawn.displays.map(({ image }) => image)).toEqual([png("a"), png("b"), png("c")]);
    expect((await run(python, "plt.get_fignums(), plt.backend")).value).toEqual([[], "agg"]);
    expect((await run(python, "plt.plot('once')")).displays).toMatchObject([{ isResult: true, image: png("once") }]);
    const broken = await run(python, "plt.plot('bad'); plt.plot('good')\nraise ValueError('after')");
    expect(broken).toMatchObject({ error: { message: "after" }, displays: [{ image: png("good") }] });
    expect(broken.stderr.text).toContain("cannot draw");
    expect((await run(python, "plt.get_fignums()")).value).toEqual([]);
  });

  it("keeps what was shown before a timeout", async () => {
    const { status: ended, displays } = await run(python, "display('before')\nwhile True: pass", { deadlineMs: 300 });
    expect([ended, displays]).toEqual(["timeout", [{ text: "before", isResult: false, omitted: [] }]]);
  });

  it("A16 bounds displays together and says what was left out", async () => {
    const big = `class Big:
    def _repr_html_(self): return "x" * 60_000
    def __repr__(self): return "Big()"
for _ in range(3): display(Big())`;
    const { displays, displaysOmitted } = await run(python, big);
    expect(displays.map(({ omitted, html }) => [omitted, html?.length])).toEqual([
      [[], 60_000],
      [["html"], undefined],
      [["html"], undefined],
    ]);
    expect(displaysOmitted).toBe(0);
    const flood = await run(python, "for number in range(2000): display(number)");
    expect(flood.displays).toHaveLength(256);
    expect(flood.displaysOmitted).toBe(2000 - 256);
  });

  it("A16 survives forms that raise, answer nonsense or never end", async () => {
    const evil = `class Evil:
    def _repr_html_(self): raise RuntimeError("no")
    def _repr_png_(self): return 5
    def _repr_json_(self): return object()
    def _repr_mimebundle_(self, **_): return {"text/markdown": "**only**", 3: 4}
    def __repr__(self): raise RuntimeError("no")
Evil()`;
    expect(await run(python, evil)).toMatchObject({
      status: "ok",
      text: "<Evil: its repr raised RuntimeError>",
      displays: [{ markdown: "**only**", omitted: [] }],
    });
    await run(python, "kept = 1");
    const slow = "class Slow:\n    def _repr_html_(self):\n        while True: pass\nSlow()";
    expect(await run(python, slow, { deadlineMs: 200 })).toMatchObject({ status: "timeout", stateLost: false });
    const slowMessage = "import time\nclass Late(Exception):\n    def __str__(self): time.sleep(60)\nraise Late";
    expect(await run(python, slowMessage, { deadlineMs: 200 })).toMatchObject({ status: "timeout", stateLost: false });
    expect((await run(python, "kept")).value).toBe(1);
  });

  it("A16 names the parts of a value that JSON cannot hold", async () => {
    const { value, lossy } = await run(
      python,
      "{'x': float('nan'), 'y': [1, float('-inf')], 'z': {1}, 'b': 2**60, 'o': len}",
    );
    expect(value).toEqual({ x: null, y: [1, null], z: [1], b: "1152921504606846976", o: null });
    expect(lossy).toEqual([
      "$.x: nan",
      "$.y[1]: -inf",
      "$.z: set",
      "$.b: an integer beyond 2**53, as text",
      "$.o: builtin_function_or_method",
    ]);
    expect((await run(python, "{'x': 1.5}")).lossy).toEqual([]);
  });

  it("shows the source of functions from other cells, and the line of the cell that was sent", async () => {
    await run(python, "def divide(n):\n    return 1 / n");
    const { error } = await run(
      python,
      "\ntry:\n    divide(0)\nexcept ZeroDivisionError as first:\n    raise KeyError('second') from first",
    );
    expect(error).toMatchObject({ name: "KeyError", line: 5 });
    expect(error?.traceback).toMatch(/return 1 \/ n[\s\S]*direct cause[\s\S]*raise KeyError\('second'\)/);
    expect(error?.traceback).not.toMatch(/python_kernel|python_displays/);
    expect((await run(python, "\n\ndivide(0)")).error?.line).toBe(3);
    expect((await run(python, "def deep(n):\n    deep(n + 1)\n\ndeep(0)")).error).toMatchObject({
      name: "RecursionError",
    });
    expect((await run(python, "x = 1\nif x:\ny = 2")).error).toMatchObject({ name: "IndentationError", line: 3 });
    const group = "raise ExceptionGroup('many', [ValueError('one'), TypeError('two')])";
    expect((await run(python, group)).error?.traceback).toMatch(/ValueError: one[\s\S]*TypeError: two/);
  });

  it("A05 kills a child that ignores the interrupt, and keeps its own state", async () => {
    const code =
      "kept = 5\nimport subprocess\nsubprocess.run(['bash', '-c', \"trap '' INT TERM; setsid sleep 961 & sleep 962\"])";
    expect(await run(python, code, { deadlineMs: 300 })).toMatchObject({ status: "timeout", stateLost: false });
    const left = "import glob\n[p for p in glob.glob('/proc/[0-9]*/cmdline') if 'sleep' in open(p).read()]";
    expect(await run(python, left)).toMatchObject({ value: [] });
    expect((await run(python, "kept")).value).toBe(5);
  });

  it("writes its state to a file that another kernel takes up, and says what it could not keep", async () => {
    const fresh = await sandbox.openKernel("python", never);
    await run(
      fresh,
      `import math as m, random
from functools import wraps
K = 4
shared = [1]; holder = {"shared": shared}
def twice(f):
    @wraps(f)
    def inner(*a): return 2 * f(*a)
    return inner
@twice
def area(r, k=K): return m.floor(r) * k
class Point:
    def __init__(self, x): self.x = x
p = Point(7)
stream = open("/dev/null"); numbers = (n for n in range(3))
random.seed(1)`,
    );
    const options = { deadlineMs: 5_000, signal: never };
    const dumped = await fresh.dumpState?.("/workspace/state", options);
    expect(dumped?.saved.toSorted()).toEqual(
      ["K", "Point", "area", "holder", "m", "p", "random", "shared", "twice", "wraps"].toSorted(),
    );
    expect(dumped?.skipped.map(({ name }) => name)).toEqual(["stream", "numbers"]);
    const drawn = (await run(fresh, "random.random()")).value;
    const next = await sandbox.openKernel("python", never);
    const loaded = await next.loadState?.("/workspace/state", options);
    expect(loaded).toMatchObject({ skipped: [] });
    const { value } = await run(next, "area(2.5), p.x, isinstance(p, Point), holder['shared'] is shared");
    expect(value).toEqual([16, 7, true, true]);
    expect((await run(next, "random.random()")).value).not.toBe(drawn);
    expect((await run(next, "area('x')")).error?.traceback).toContain("return m.floor(r) * k");
    await run(next, "big = bytes(100_000)");
    const bounded = await next.dumpState?.("/workspace/state", { ...options, maxBytes: 10_000 });
    expect(bounded?.skipped).toEqual([{ name: "big", reason: expect.stringContaining("limit") }]);
    await expect(next.loadState?.("/workspace/nothing", options)).rejects.toMatchObject({ error: "execution_error" });
  });
});
