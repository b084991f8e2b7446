import { instantiate, type WithMemory } from "./assembled.ts";

// `byte-dots.wat`, assembled; test/backends/rag/simd.test.ts holds the two together.
export const BYTE_DOTS_WASM =
  "AGFzbQEAAAABCQFgBX9/f39/AAMCAQAFAwEAAQcRAgZtZW1vcnkCAARkb3RzAAAKqwEBqAECAn8DeyAAIANqIQUCQANAIAJFDQH9DAAAAAAAAAAAAAAAAAAAAAAhCSAA" +
  "IQYDQCAG/QAEACEHIAH9AAQAIQggCSAH/YcBIAj9hwH9ugEgB/2IASAI/YgB/boB/a4B/a4BIQkgAUEQaiEBIAZBEGohBiAGIAVJDQALIAQgCf0bACAJ/RsBaiAJ/RsC" +
  "IAn9GwNqajYCACAEQQRqIQQgAkEBayECDAALCws=";

interface ByteDots extends WithMemory {
  /** All numbers are offsets into the memory, but for the count; the size is in whole sixteens. */
  dots(query: number, vectors: number, count: number, size: number, out: number): void;
}

/** Makes a memory of its own, with what works on it. */
export function openByteDots(bytes: number): ByteDots {
  return instantiate<ByteDots>(BYTE_DOTS_WASM, bytes);
}
