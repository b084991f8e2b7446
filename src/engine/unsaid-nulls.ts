import { z } from "zod";

/**
 * Leaves out the nulls that stand for what may be left out, as other languages and models say it, at every depth. Those that a
 * schema takes stay, and so do those in lists and in records, where a null is a value: that of a filter, say.
 *
 * @returns the value itself where nothing is to be left out.
 */
export function withoutUnsaidNulls(schema: z.core.$ZodType, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const inner = innerOf(schema);
  if (inner !== undefined) return withoutUnsaidNulls(inner, value);
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    const items = value.map((item) => withoutUnsaidNulls(schema.element, item));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (schema instanceof z.ZodUnion) return inUnion(schema, value);
  return schema instanceof z.ZodObject && !Array.isArray(value) ? inObject(schema, value) : value;
}

function inObject({ shape }: z.ZodObject, value: object): object {
  let changed = false;
  const kept = Object.entries(value).flatMap(([key, field]) => {
    const its: unknown = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (!(its instanceof z.ZodType)) return [[key, field]];
    const isUnsaid = field === null && !its.safeParse(null).success && its.safeParse(undefined).success;
    const said = isUnsaid ? undefined : withoutUnsaidNulls(its, field);
    changed ||= said !== field;
    return isUnsaid ? [] : [[key, said]];
  });
  return changed ? Object.fromEntries(kept) : value;
}

/** What the first of the alternatives takes that takes it at all. */
function inUnion(schema: z.ZodUnion, value: object): unknown {
  if (schema.safeParse(value).success) return value;
  for (const option of schema.options) {
    const said = withoutUnsaidNulls(option, value);
    if (said !== value && z.safeParse(option, said).success) return said;
  }
  return value;
}

/** The schema that a wrapping one puts something round; what is behind a lazy one is left alone, since it may have no end. */
function innerOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly) {
    return schema.unwrap();
  }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.in : undefined;
}
