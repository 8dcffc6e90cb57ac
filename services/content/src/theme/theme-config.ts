import { badRequest } from "@tidings/rpc/fault";
import { z } from "zod";

/** The `config.json` of a theme. */
export interface ThemeConfig {
  name: string;
  author?: string | undefined;
  authorUrl?: string | undefined;
  features: string[];
}

export const FEATURES = ["page", "email", "form"] as const;

const text = z
  .string()
  .max(191)
  .refine((value) => value.isWellFormed() && !value.includes("\0"));
const shape = z.object({
  name: text.min(1),
  author: text.optional(),
  authorUrl: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional(),
  features: z.array(z.enum(FEATURES)).min(1).max(FEATURES.length),
});

/** Throws BAD_REQUEST for what is no such file. */
export function parseThemeConfig(bytes: Buffer): ThemeConfig {
  const read = shape.safeParse(jsonOf(bytes));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw badRequest(`The config.json of the theme is not valid: ${issue?.path.join(".") || "it"} is wrong.`);
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw badRequest("The config.json of the theme is not JSON.");
  }
}
