/** What of the standard's own object is used here; the compiler's library for servers has no types of it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

const PAGE_BYTES = 65_536;
const modules = new Map<string, object>();

/** What every module here exports beside its functions. */
export interface WithMemory {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
}

/**
 * Makes an instance of a module with a memory of its own for so many bytes. Each reserves gigabytes of addresses, though not of
 * memory: make few.
 *
 * @param base64 the assembled module, whose exports `T` says
 */
export function instantiate<T extends WithMemory>(base64: string, bytes: number): T {
  let module = modules.get(base64);
  if (module === undefined) {
    module = new WebAssembly.Module(Buffer.from(base64, "base64"));
    modules.set(base64, module);
  }
  // As the module's source says.
  const instance = new WebAssembly.Instance(module).exports as T;
  instance.memory.grow(Math.ceil(bytes / PAGE_BYTES));
  return instance;
}
