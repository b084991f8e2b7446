import { z } from "zod";
import { loadSharp } from "../../../screen/load-sharp.ts";
import { EvaluatorMistake, type Found, type Side, unreadable } from "../found.ts";
import { failed, type Metric, type MetricInput, PASSED, readExpected, readOptions, verdict } from "../metric.ts";
import { structuralSimilarity } from "./structural-similarity.ts";

const MAX_PIXELS = 50_000_000;

/** The same picture, pixel by pixel. */
export const compareImages: Metric = {
  async judge(input) {
    const [found, wanted] = await bothPictures(input, false);
    if (!isSameSize(found, wanted)) return failed(`it is ${found.width}x${found.height}`);
    return verdict(found.pixels.equals(wanted.pixels), "its pixels differ");
  },
};

/** How alike two pictures are in structure, 0 to 1. */
export const imageSimilarity: Metric = {
  async judge(input) {
    const score = await toSimilarity(input, z.strictObject({ resize: z.boolean().default(false) }));
    return score === 1 ? PASSED : failed(typeof score === "string" ? score : "they differ", Number(score) || 0);
  },
};

/** Pictures whose structures are alike by a threshold. */
export const checkStructureSimilarity: Metric = {
  async judge(input) {
    const schema = z.strictObject({
      threshold: z.number().min(0).max(1).default(0.9),
      resize: z.boolean().default(false),
    });
    const { threshold } = readOptions(input, schema);
    const score = await toSimilarity(input, schema);
    if (typeof score === "string") return failed(score);
    return verdict(score >= threshold, `they are alike by ${score.toFixed(3)} only`);
  },
};

/** A picture of a size. */
export const checkImageSize: Metric = {
  async judge(input) {
    const schema = z.looseObject({ width: z.int().min(1).optional(), height: z.int().min(1).optional() });
    const { width, height } = readExpected(input, schema);
    const found = await toPicture(input.result, "result", true);
    const isWanted = (width ?? found.width) === found.width && (height ?? found.height) === found.height;
    return verdict(isWanted, `it is ${found.width}x${found.height}`);
  },
};

interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

async function toSimilarity(input: MetricInput, schema: z.ZodType<{ resize: boolean }>): Promise<number | string> {
  const { resize } = readOptions(input, schema);
  const wanted = await toPicture(expectedOf(input), "expected", true);
  const found = await toPicture(input.result, "result", true, resize ? wanted : undefined);
  if (!isSameSize(found, wanted)) return `it is ${found.width}x${found.height}`;
  return structuralSimilarity(found.pixels, wanted.pixels, wanted);
}

async function bothPictures(input: MetricInput, grey: boolean): Promise<[Pixels, Pixels]> {
  return [await toPicture(input.result, "result", grey), await toPicture(expectedOf(input), "expected", grey)];
}

async function toPicture(found: Found, side: Side, grey: boolean, size?: Pixels): Promise<Pixels> {
  if (found.kind !== "file") throw unreadable(side, found.kind === "missing" ? found.reason : "it is no picture");
  const load = await loadSharp();
  try {
    let picture = load(Buffer.from(found.bytes), { limitInputPixels: MAX_PIXELS }).removeAlpha().toColourspace("srgb");
    if (size !== undefined) picture = picture.resize(size.width, size.height, { fit: "fill" });
    if (grey) picture = picture.greyscale();
    const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, pixels: data };
  } catch {
    throw unreadable(side, `${found.name} is no picture that can be read`);
  }
}

function expectedOf({ expected }: MetricInput): Found {
  if (expected === undefined) throw new EvaluatorMistake("this metric needs an expected picture");
  return expected;
}

function isSameSize(left: Pixels, right: Pixels): boolean {
  return left.width === right.width && left.height === right.height;
}
