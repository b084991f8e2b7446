// `byte-dots.wat`, assembled; test/backends/rag/byte-vectors.test.ts holds the two together.
export const BYTE_DOTS_WASM =
  "AGFzbQEAAAABCQFgBX9/f39/AAMCAQAFAwEAAQcRAgZtZW1vcnkCAARkb3RzAAAKqwEBqAECAn8DeyAAIANqIQUCQANAIAJFDQH9DAAAAAAAAAAAAAAAAAAAAAAh" +
  "CSAAIQYDQCAG/QAEACEHIAH9AAQAIQggCSAH/YcBIAj9hwH9ugEgB/2IASAI/YgB/boB/a4B/a4BIQkgAUEQaiEBIAZBEGohBiAGIAVJDQALIAQgCf0bACAJ/RsB" +
  "aiAJ/RsCIAn9GwNqajYCACAEQQRqIQQgAkEBayECDAALCws=";

/** What of the standard's own object is used here; the compiler's library for servers has no types of it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface ByteDots {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** All numbers are offsets into the memory, but for the count; the size is in whole sixteens. */
  dots(query: number, vectors: number, count: number, size: number, out: number): void;
}

let module: object | undefined;

/** Makes a memory of its own, with what works on it. */
export function openByteDots(bytes: number): ByteDots {
  module ??= new WebAssembly.Module(Buffer.from(BYTE_DOTS_WASM, "base64"));
  // As the source says.
  const dots = new WebAssembly.Instance(module).exports as ByteDots;
  dots.memory.grow(Math.ceil(bytes / 65_536));
  return dots;
}
