import type { Language } from "../../src/core/runtime.ts";
import { MARKERS, type Programs } from "./runtime-conformance.ts";

/** The programs of the conformance kit for engines that really run code. */
export const PROGRAMS: Readonly<Record<Language, Programs>> = {
  javascript: {
    set: "let x = 10;",
    printSum: "console.log(x + 5)",
    value: "x * 2",
    raise: "const before = 1;\n\nthrow new TypeError('boom')",
    spin: "while (true) {}",
    wait: "await new Promise((resolve) => setTimeout(resolve, 60_000))",
    gather: "await Promise.all([0, 1, 2].map((n) => tools.call('echo', { n })))",
    printMarkers: MARKERS.map((marker) => `console.log(${JSON.stringify(marker)})`).join("\n"),
    multiLine: "const text = `a\n    b`;\nconsole.log(text)",
  },
  python: {
    set: "x = 10",
    printSum: "print(x + 5)",
    value: "x * 2",
    raise: "before = 1\n\nraise ValueError('boom')",
    spin: "while True: pass",
    wait: "import asyncio\nawait asyncio.sleep(60)",
    gather: "import asyncio\nawait asyncio.gather(*[tools.call('echo', n=n) for n in range(3)])",
    printMarkers: MARKERS.map((marker) => `print(${JSON.stringify(marker)})`).join("\n"),
    multiLine: 'text = """a\n    b"""\nprint(text)',
  },
  bash: {
    set: "x=10",
    printSum: "echo $((x + 5))",
    spin: "while :; do :; done",
    wait: "sleep 60",
    printMarkers: MARKERS.map((marker) => `echo '${marker}'`).join("\n"),
    multiLine: "text='a\n    b'\necho \"$text\"",
  },
};
