import type SharpModule from "sharp";
import { ToolyardError } from "../../../core/errors.ts";

type Sharp = typeof SharpModule;
let sharp: Promise<Sharp> | undefined;

/** Loads the package that makes and reads pictures. @throws ToolyardError `dependency_failed` when it is not there */
export async function loadSharp(): Promise<Sharp> {
  sharp ??= import("sharp").then((module) => module.default);
  try {
    return await sharp;
  } catch (cause) {
    sharp = undefined;
    throw new ToolyardError("dependency_failed", 'screenshots need the package "sharp", which cannot be loaded', {
      cause,
      suggestion: "Install it: npm install sharp@0.35.",
    });
  }
}
