import { createRequire } from "node:module";
import type * as serialize from "@xterm/addon-serialize";
import type * as headless from "@xterm/headless";
import type { TerminalScreen } from "../../core/terminal.ts";

export interface ScreenOptions {
  readonly columns: number;
  readonly rows: number;
  /** Lines kept above the screen. */
  readonly scrollbackLines: number;
  /** Told what a terminal answers to a program's questions (where the cursor is, what it can). */
  readonly onReply: (text: string) => void;
  readonly onTitle: (title: string) => void;
}

/** Hides what was on a viewer's screen before, whatever state it was in. */
const RESET = "\u001bc";
const MAX_TITLE = 200;

/** Not `import`: Node takes the packages' CommonJS and tsx their ES modules, whose exports are named otherwise. */
const load = createRequire(import.meta.url);

/** Loads the emulator on its first use, so that a server without terminals never does. */
function loadEmulator() {
  const { Terminal } = load("@xterm/headless") as typeof headless; // as its types say
  const { SerializeAddon } = load("@xterm/addon-serialize") as typeof serialize;
  return { Terminal, SerializeAddon };
}

/**
 * What a terminal shows, kept by an emulator: a viewer that comes back is given this in place of all that was ever written,
 * of which a part is gone, and whose questions its own terminal would answer a second time.
 */
export class Screen {
  readonly #emulator: headless.Terminal;
  readonly #serializer: serialize.SerializeAddon;

  private constructor(emulator: headless.Terminal, serializer: serialize.SerializeAddon) {
    this.#emulator = emulator;
    this.#serializer = serializer;
  }

  static open(options: ScreenOptions): Screen {
    const { Terminal, SerializeAddon } = loadEmulator();
    const emulator = new Terminal({
      cols: options.columns,
      rows: options.rows,
      scrollback: options.scrollbackLines,
      allowProposedApi: true,
      logLevel: "off",
    });
    const serializer = new SerializeAddon();
    // The addon asks for the browser's terminal by its type, and for the part that both have in fact.
    emulator.loadAddon(serializer as never);
    emulator.onData(options.onReply);
    emulator.onTitleChange((title) => options.onTitle(title.slice(0, MAX_TITLE)));
    return new Screen(emulator, serializer);
  }

  get columns(): number {
    return this.#emulator.cols;
  }

  get rows(): number {
    return this.#emulator.rows;
  }

  /** Resolves when it is shown. */
  write(text: string): Promise<void> {
    return new Promise((resolve) => this.#emulator.write(text, resolve));
  }

  resize(columns: number, rows: number): void {
    this.#emulator.resize(columns, rows);
  }

  /** What makes any terminal of this size show the same: modes, both screens, scrollback. */
  snapshot(): string {
    return RESET + this.#serializer.serialize();
  }

  read(): TerminalScreen {
    const { active } = this.#emulator.buffer;
    const lines = Array.from({ length: this.rows }, (_, row) => {
      return active.getLine(active.baseY + row)?.translateToString(true) ?? "";
    });
    return {
      lines,
      cursor: { column: Math.min(active.cursorX, this.columns - 1), row: active.cursorY },
      alternate: active.type === "alternate",
      columns: this.columns,
      rows: this.rows,
    };
  }

  close(): void {
    this.#emulator.dispose();
  }
}
