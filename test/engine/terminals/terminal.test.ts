import { describe, expect, it } from "vitest";
import { toTerminalCommand } from "../../../src/core/terminal.ts";
import { defaultLimits, type EngineLimits } from "../../../src/engine/limits.ts";
import { EmulationPace } from "../../../src/engine/terminals/emulation-pace.ts";
import { Terminal } from "../../../src/engine/terminals/terminal.ts";
import type { TerminalViewer } from "../../../src/engine/terminals/viewers.ts";
import { ManualClock } from "../../kit/manual-clock.ts";
import { ScriptedProcess } from "../../kit/scripted-terminal.ts";

const mark = { id: "t1", columns: 20, rows: 4, command: [] };

async function opened(limits: Partial<EngineLimits> = {}, taken = false, before = "") {
  const clock = new ManualClock();
  const process = new ScriptedProcess("p1", toTerminalCommand(mark), 4_096);
  if (before !== "") process.print(before);
  const deps = { clock, limits: { ...defaultLimits, ...limits }, pace: new EmulationPace(clock) };
  const terminal = Terminal.open(process, mark, deps, taken);
  /** What the screen shows once it shows this. */
  const shows = async (text: string) => {
    await expect.poll(async () => (await terminal.screen(0)).lines.join("\n")).toContain(text);
    return terminal.screen(0);
  };
  return { clock, process, terminal, shows };
}

function viewer(answers = true): TerminalViewer & { seen: string; titles: string[]; over: boolean } {
  return {
    answers,
    seen: "",
    titles: [],
    over: false,
    output(data) {
      this.seen += data.toString("utf8");
    },
    title(title) {
      this.titles.push(title);
    },
    ended() {
      this.over = true;
    },
  };
}

describe("a terminal", () => {
  it("shows what its program writes, whole characters only", async () => {
    const { process, shows } = await opened();
    const text = Buffer.from("é👍");
    process.print(text.subarray(0, 1));
    process.print(text.subarray(1, 4));
    process.print(text.subarray(4));
    process.print("\r\n\u001b[31mred\u001b[0m");
    const screen = await shows("red");
    expect(screen.lines).toEqual(["é👍", "red", "", ""]);
    expect(screen).toMatchObject({ cursor: { column: 3, row: 1 }, alternate: false, columns: 20, rows: 4 });
  });

  it("gives who comes later what is shown, and from there on every byte once", async () => {
    const { process, terminal, shows } = await opened();
    for (let line = 0; line < 10; line += 1) process.print(`line ${line}\r\n`);
    process.print("\u001b]0;a title\u0007\u001b[?2004h$ ");
    await shows("$");
    const [early, late] = [viewer(), viewer()];
    await terminal.attach(early);
    process.print("more");
    await shows("$ more");
    await terminal.attach(late);
    process.print("!");
    await shows("$ more!");
    expect(early.seen.startsWith("\u001bcline 0\r\n") && early.seen.endsWith("more!")).toBe(true);
    expect(early.seen).toContain("\u001b[?2004h");
    expect(late.seen.split("more")).toHaveLength(2);
    expect(late.seen.endsWith("!")).toBe(true);
    expect(late.titles).toEqual(["a title"]);
  });

  it("gives both screens: the full-screen program's, and the shell's that comes back after it", async () => {
    const { process, terminal, shows } = await opened();
    process.print("$ vi\r\n\u001b[?1049h\u001b[H\u001b[2Jfull screen");
    expect(await shows("full screen")).toMatchObject({ alternate: true });
    const seen = viewer();
    await terminal.attach(seen);
    process.print("\u001b[?1049l$ ");
    expect((await shows("$ vi")).alternate).toBe(false);
    // A viewer's own terminal shows the same as the server's: it is the same bytes.
    const parts = ["$ vi", "\u001b[?1049h", "full screen", "\u001b[?1049l"].map((part) => seen.seen.indexOf(part));
    expect(parts).toEqual(parts.toSorted((left, right) => left - right));
    expect(parts).not.toContain(-1);
  });

  it("answers a program's question when nobody's own terminal does, and only then", async () => {
    const { process, terminal, shows } = await opened();
    process.print("a\u001b[6n");
    await expect.poll(() => process.inputs).toEqual(["\u001b[1;2R"]);
    const watching = await terminal.attach(viewer(false));
    process.print("b\u001b[6n");
    await expect.poll(() => process.inputs).toHaveLength(2);
    watching();
    await terminal.attach(viewer(true));
    process.print("c\u001b[6nd");
    await shows("abcd");
    expect(process.inputs).toHaveLength(2);
  });

  it("takes over what ran before: it shows the old output, and answers no old question", async () => {
    const { process, terminal, shows } = await opened({}, true, "old\u001b[6n\r\n");
    await shows("old");
    process.print("new\u001b[6n");
    await shows("new");
    await expect.poll(() => process.inputs).toEqual(["\u001b[2;4R"]);
    const { cast, complete } = terminal.recording();
    expect(complete).toBe(false);
    expect(cast).toContain("the server was restarted");
  });

  it("says what the sandbox could not keep", async () => {
    const { terminal, shows } = await opened({}, true, `${"x".repeat(9_000)}\r\nlast`);
    const { lines } = await shows("last");
    expect(lines.join("")).not.toContain("toolyard");
    const seen = viewer();
    await terminal.attach(seen);
    expect(seen.seen).toContain("[toolyard: 4910 bytes");
    expect(terminal.recording().cast).toContain("4910 bytes are left out");
  });

  it("types in the order in which it was asked to, and refuses what its program does not take", async () => {
    const { process, terminal } = await opened();
    const gate = Promise.withResolvers<void>();
    process.blocked = gate.promise;
    const first = terminal.write(Buffer.from("one"));
    const second = terminal.write(Buffer.from("two"));
    expect(terminal.pendingBytes).toBe(6);
    expect(() => terminal.write(Buffer.alloc(262_144))).toThrow(expect.objectContaining({ error: "overloaded" }));
    gate.resolve();
    await Promise.all([first, second]);
    expect(process.inputs).toEqual(["one", "two"]);
    expect(terminal.pendingBytes).toBe(0);
  });

  it("tells a resize to its program, and a recording of it", async () => {
    const { process, terminal } = await opened();
    await terminal.resize(100, 30);
    await terminal.resize(100, 30);
    expect(process.sizes).toEqual(["100x30"]);
    expect(terminal.status).toMatchObject({ columns: 100, rows: 30 });
    expect(terminal.recording().cast).toContain('"r","100x30"');
  });

  it("ends with its program, whose last words are shown", async () => {
    const { process, terminal } = await opened();
    const seen = viewer();
    await terminal.attach(seen);
    process.print("bye");
    process.end(3);
    expect(await terminal.over).toBe("exited");
    expect(seen.seen.endsWith("bye")).toBe(true);
    expect(seen.over).toBe(true);
    expect(terminal.status).toMatchObject({ running: false, exit: { exitCode: 3 } });
    expect(() => terminal.write(Buffer.from("x"))).toThrow(expect.objectContaining({ error: "conflict" }));
    const late = viewer();
    await terminal.attach(late);
    expect([late.seen.includes("bye"), late.over]).toEqual([true, true]);
  });

  it("is lost with its sandbox, and what it showed stays", async () => {
    const { process, terminal, shows } = await opened();
    process.print("before");
    await shows("before");
    process.die();
    expect(await terminal.over).toBe("lost");
    expect((await terminal.screen(0)).lines[0]).toBe("before");
  });

  it("hangs up first, and kills what does not go", async () => {
    const polite = await opened();
    await polite.terminal.stop("stopped");
    expect([polite.process.signals, await polite.terminal.over]).toEqual([["SIGHUP", "SIGKILL"], "stopped"]);
    expect(polite.process.exit).toMatchObject({ signal: "SIGHUP" });
    const stubborn = await opened();
    stubborn.process.hangupsIgnored = Number.MAX_SAFE_INTEGER;
    const stopped = stubborn.terminal.stop("stopped");
    await expect.poll(() => stubborn.process.signals).toEqual(["SIGHUP"]);
    await expect
      .poll(async () => {
        await stubborn.clock.advance(251);
        return stubborn.process.exit;
      })
      .toMatchObject({ signal: "SIGKILL" });
    await stopped;
  });

  it("hangs up again where a shell forgot about it while it started", async () => {
    const forgetful = await opened();
    forgetful.process.hangupsIgnored = 2;
    const stopped = forgetful.terminal.stop("stopped");
    await expect
      .poll(async () => {
        await forgetful.clock.advance(251);
        return forgetful.process.signals;
      })
      .toEqual(["SIGHUP", "SIGHUP", "SIGHUP", "SIGKILL"]);
    await stopped;
    expect(forgetful.process.exit).toMatchObject({ signal: "SIGHUP" });
  });

  it("is stopped when nobody has anything to do with it, and not while somebody watches", async () => {
    const { clock, process, terminal } = await opened({ terminalIdleMs: 1_000 });
    const leave = await terminal.attach(viewer());
    await clock.advance(5_000);
    expect(terminal.running).toBe(true);
    leave();
    await clock.advance(999);
    await terminal.write(Buffer.from("x"));
    await clock.advance(999);
    expect(process.signals).toEqual([]);
    await clock.advance(10);
    expect(await terminal.over).toBe("idle");
  });

  it("has as many viewers as may be, however close they come", async () => {
    const { terminal } = await opened({ terminalViewers: 2 });
    const settled = await Promise.allSettled([1, 2, 3].map(() => terminal.attach(viewer())));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(terminal.status.viewers).toBe(2);
  });
});
