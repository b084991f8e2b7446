import { instantiate, type WithMemory } from "./assembled.ts";

// `row-kernels.wat`, assembled; test/backends/rag/simd.test.ts holds the two together.
export const ROW_KERNELS_WASM =
  "AGFzbQEAAAABGANgBn9/f39/fwBgA39/fwBgBX9/f39/AAMGBQAAAQIABQMBAAEHLAUGbWVtb3J5AgAHc2NhdHRlcgAABmdhdGhlcgABBGdyYW0AAwVzb2x2ZQAECqcF" +
  "BXoCA38BeyAAIAVqIQgCQANAIANFDQEgBCABKAIAIAVsaiEHIAL9CQIAIQkgACEGA0AgByAH/QAEACAJIAb9AAQA/eYB/eQB/QsEACAHQRBqIQcgBkEQaiEGIAYgCEkN" +
  "AAsgAUEEaiEBIAJBBGohAiADQQFrIQMMAAsLC3oCA38BeyAAIAVqIQgCQANAIANFDQEgBCABKAIAIAVsaiEGIAL9CQIAIQkgACEHA0AgByAH/QAEACAJIAb9AAQA/eYB" +
  "/eQB/QsEACAHQRBqIQcgBkEQaiEGIAcgCEkNAAsgAUEEaiEBIAJBBGohAiADQQFrIQMMAAsLCygAA0AgAiAA/V0DAP1f/QsEACAAQQhqIQAgAkEQaiECIAAgAUkNAAsL" +
  "swEDBX8BewF/IAJBA3QhCSADIAlqIQgCQANAIAFFDQEgACAAIAJBAnRqIAMQAiADIQUgBCELA0AgBf0KAwAhCiADIAUgA2tBcHFqIQYgCyAGIANraiEHA0AgByAH/QAE" +
  "ACAKIAb9AAQA/fIB/fAB/QsEACAHQRBqIQcgBkEQaiEGIAYgCEkNAAsgCyAJaiELIAVBCGohBSAFIAhJDQALIAAgAkECdGohACABQQFrIQEMAAsLC9ABBAV/AXsCfwF8" +
  "IAJBA3QhCiADIApqIQkCQANAIAFFDQEgACAAIAJBAnRqIAMQAiADIQYgBCEMIAUhDQNAIAYrAwAgDSsDAKIhDiAAIA62OAIAIA79FCELIAMgBiADa0FwcWohCCAMIAgg" +
  "A2tqIQcDQCAIIAj9AAQAIAsgB/0ABAD98gH98QH9CwQAIAhBEGohCCAHQRBqIQcgCCAJSQ0ACyAMIApqIQwgAEEEaiEAIA1BCGohDSAGQQhqIQYgBiAJSQ0ACyABQQFr" +
  "IQEMAAsLCw==";

/** All numbers are offsets into the memory, but for counts and sizes. */
interface RowKernels extends WithMemory {
  scatter(source: number, rows: number, weights: number, count: number, targets: number, sizeBytes: number): void;
  gather(target: number, rows: number, weights: number, count: number, sources: number, sizeBytes: number): void;
  gram(row: number, count: number, size: number, wide: number, products: number): void;
  solve(row: number, count: number, size: number, wide: number, upper: number, scales: number): void;
}

/** Makes a memory of its own, with what works on it. */
export function openRowKernels(bytes: number): RowKernels {
  return instantiate<RowKernels>(ROW_KERNELS_WASM, bytes);
}
