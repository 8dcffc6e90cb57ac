import type { FormField } from "@tidings/proto/tidings/content/v1/form";
import {
  flag,
  html,
  listOf,
  oneOf,
  type PropertyReaders,
  propertiesOf,
  text,
  wholeNumber,
} from "@tidings/resource/properties";
import { options } from "./options.ts";

const MEGABYTES_MAX = 1_024;

const placeholder = { placeholder: text };
const group = { optionlist: options, labelAttributes: text, syncList: flag };
const button = { type: oneOf("submit", "reset") };
const shown = { text: html };

/** The properties of fields of each type. */
export const FIELD_PROPERTIES: ReadonlyMap<string, PropertyReaders> = new Map<string, PropertyReaders>([
  ["button", button],
  ["captcha", { ...placeholder, captcha: text, errorMessage: text }],
  ["checkboxgrp", group],
  ["radiogrp", group],
  ["companyLookup", placeholder],
  ["country", { ...placeholder, multiple: flag }],
  ...["date", "datetime", "email", "password", "tel", "text", "textarea", "url"].map(
    (type): [string, PropertyReaders] => [type, placeholder],
  ),
  ["file", { allowed_file_extensions: extensions, allowed_file_size: megabytes, public: flag }],
  ["freehtml", shown],
  ["freetext", shown],
  ["number", { ...placeholder, precision: wholeNumber(0, 10) }],
  ["pagebreak", { next_page_label: text, prev_page_label: text }],
  ["select", { ...placeholder, list: options, multiple: flag, syncList: flag }],
]);

/** They show or decide something, and have no value. */
const VIEW_ONLY = new Set(["button", "captcha", "freehtml", "freetext", "pagebreak"]);

/** Has the field a value that is kept with a submission? */
export function isKept({ type, saveResult }: FormField): boolean {
  return !VIEW_ONLY.has(type) && saveResult !== false;
}

/** A captcha without an answer is a trap for machines, which people do not meet. */
export function isTrap(field: FormField): boolean {
  return field.type === "captcha" && !propertiesOf(field).captcha;
}

export function isViewOnly({ type }: FormField): boolean {
  return VIEW_ONLY.has(type);
}

function extensions(value: unknown): unknown {
  const words = typeof value === "string" ? value.split(",").filter((word) => word.trim() !== "") : value;
  return listOf((word) => {
    const extension = String(text(word) ?? "")
      .trim()
      .toLowerCase()
      .replace(/^\./, "");
    return /^[a-z0-9]{1,10}$/.test(extension) ? extension : undefined;
  })(words);
}

function megabytes(value: unknown): unknown {
  const number = value === "" ? 0 : Number(text(value) ?? "none");
  return number >= 0 && number <= MEGABYTES_MAX ? number : undefined;
}
