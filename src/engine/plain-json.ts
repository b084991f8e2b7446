import { ToolyardError } from "../core/errors.ts";

/** A value that JSON can carry, and what had to be changed to make it so. */
export interface PlainJson {
  readonly value: unknown;
  /** `path: what it was`, one for each changed value. */
  readonly lossy: readonly string[];
}

/** How large a result may be. */
export interface JsonBounds {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/**
 * Makes a tool's result carriable as JSON without losing anything silently: NaN and the infinities become null, a bigint
 * a string, bytes base64, and each is listed. The value is a copy: a tool may go on changing what it returned.
 *
 * @throws ToolyardError result_invalid for a cycle or a function, limit_exceeded for one too deep or too large.
 */
export function toPlainJson(value: unknown, bounds: JsonBounds): PlainJson {
  const walk = new Walk(bounds);
  const plain = walk.visit(value, "data", 0);
  return { value: plain === undefined ? null : plain, lossy: walk.lossy };
}

class Walk {
  readonly lossy: string[] = [];
  readonly #bounds: JsonBounds;
  readonly #ancestors = new Set<object>();
  #bytes = 0;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  visit(value: unknown, path: string, depth: number): unknown {
    switch (typeof value) {
      case "string":
        this.#count(value.length);
        return value;
      case "number":
        this.#count(8);
        if (Number.isFinite(value)) return value;
        this.#note(path, String(value));
        return null;
      case "boolean":
      case "undefined":
        return value;
      case "bigint":
        this.#note(path, "bigint");
        return value.toString();
      case "object":
        return value === null ? null : this.#visitObject(value, path, depth);
      default:
        throw new ToolyardError("result_invalid", `The result holds a ${typeof value} at ${path}`);
    }
  }

  #visitObject(value: object, path: string, depth: number): unknown {
    if (depth > this.#bounds.maxDepth) {
      throw new ToolyardError("limit_exceeded", `The result is nested deeper than ${this.#bounds.maxDepth}`, {
        details: { limit: "result_depth", maximum: this.#bounds.maxDepth },
      });
    }
    if (value instanceof Uint8Array) return this.#bytesOf(value, path);
    if ("toJSON" in value && typeof value.toJSON === "function") return this.visit(value.toJSON(), path, depth + 1);
    if (this.#ancestors.has(value)) throw new ToolyardError("result_invalid", `The result holds itself at ${path}`);
    this.#ancestors.add(value);
    const plain = Array.isArray(value) ? this.#visitArray(value, path, depth) : this.#visitRecord(value, path, depth);
    this.#ancestors.delete(value);
    return plain;
  }

  #visitArray(values: readonly unknown[], path: string, depth: number): readonly unknown[] {
    this.#count(values.length);
    return values.map((value, index) => this.visit(value, `${path}[${index}]`, depth + 1));
  }

  #visitRecord(record: object, path: string, depth: number): object {
    if (record instanceof Map || record instanceof Set) return this.#visitCollection(record, path, depth);
    // The spread makes even a key named __proto__ a property of its own, which setting it then keeps.
    const copy: Record<string, unknown> = { ...record };
    for (const key of Object.keys(copy)) {
      this.#count(key.length);
      copy[key] = this.visit(copy[key], `${path}.${key}`, depth + 1);
    }
    return copy;
  }

  #visitCollection(collection: Map<unknown, unknown> | Set<unknown>, path: string, depth: number): object {
    this.#note(path, collection instanceof Map ? "Map" : "Set");
    return this.#visitArray([...collection], path, depth);
  }

  #bytesOf(value: Uint8Array, path: string): string {
    this.#note(path, `${value.byteLength} bytes, as base64`);
    this.#count(Math.ceil(value.byteLength / 3) * 4);
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  }

  #note(path: string, what: string): void {
    if (this.lossy.length < 100) this.lossy.push(`${path}: ${what}`);
  }

  #count(bytes: number): void {
    this.#bytes += bytes + 3;
    if (this.#bytes <= this.#bounds.maxBytes) return;
    throw new ToolyardError("limit_exceeded", `The result is larger than ${this.#bounds.maxBytes} bytes`, {
      details: { limit: "result_bytes", maximum: this.#bounds.maxBytes },
    });
  }
}
