import { TemplateError } from "@tidings/rendering/template-error";
import { SendRefused } from "./compose-send.ts";

/** Why a message cannot be written for a contact. Throws what passes by itself. */
export function notWritten(error: unknown): { reason: string } {
  if (error instanceof SendRefused || error instanceof TemplateError) return { reason: error.message };
  throw error;
}
