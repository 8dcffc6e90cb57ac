import type { FormField } from "@tidings/proto/tidings/content/v1/form";
import { isObject } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { type Html, html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";
import isoNames from "i18n-iso-countries/langs/en.json" with { type: "json" };
import { type Attributes, attributesOf, element } from "./attributes.ts";
import type { Option } from "./options.ts";

/** The ids of the elements that a field is made of. */
export interface FieldPlace {
  inputId: string;
  helpId: string;
  errorId: string;
  /** The ids of the elements that describe it. */
  describedBy: string;
}

/** The type of the input, where it is not the field's own. */
const INPUT_TYPES = new Map([
  ["captcha", "text"],
  ["companyLookup", "text"],
  ["datetime", "datetime-local"],
]);

const COUNTRIES = Object.values<string | string[]>(isoNames.countries)
  .map((names) => [names].flat()[0] ?? "")
  .toSorted((one, other) => one.localeCompare(other, "en"))
  .map((name) => ({ label: name, value: name }));

/** Several inputs under one name. */
export function isGroup({ type }: FormField): boolean {
  return type === "checkboxgrp" || type === "radiogrp";
}

const CHOICE_LENGTH = 200;

/** About how long the choices of a field are as HTML, without making it: attributes are written with each of them. */
export function choicesLength(field: FormField): number {
  const { labelAttributes } = propertiesOf(field);
  const attributes = (textOf(labelAttributes) ?? "").length + (field.inputAttributes?.length ?? 0);
  return choicesOf(field).length * (CHOICE_LENGTH + attributes);
}

/** The input of a field. */
export function inputOf(field: FormField, place: FieldPlace): Html {
  switch (field.type) {
    case "button":
      return buttonOf(field, place);
    case "checkboxgrp":
    case "radiogrp":
      return { markup: groupOf(field, place) };
    case "select":
    case "country":
      return selectOf(field, place);
    case "textarea":
      return element(
        "textarea",
        { ...commonOf(field, place, "svcform-textarea"), ...placeholderOf(field) },
        addedTo(field),
        [html`${field.defaultValue}`],
      );
    default:
      return element(
        "input",
        { ...commonOf(field, place, "svcform-input"), ...inputAttributes(field) },
        addedTo(field),
      );
  }
}

function addedTo({ inputAttributes }: FormField): Attributes {
  return attributesOf(inputAttributes);
}

function commonOf(field: FormField, { inputId, describedBy }: FieldPlace, name: string): Attributes {
  if (field.type === "hidden") return { id: inputId, name: nameOf(field) };
  return {
    id: inputId,
    name: nameOf(field),
    class: name,
    "aria-label": field.showLabel === false ? field.label : undefined,
    "aria-required": field.isRequired ? "true" : undefined,
    "aria-describedby": describedBy,
  };
}

function nameOf({ alias }: FormField, isMultiple = false): string {
  return `svcform[${alias}]${isMultiple ? "[]" : ""}`;
}

function placeholderOf(field: FormField): Attributes {
  const { placeholder } = propertiesOf(field);
  return { placeholder: textOf(placeholder) || undefined };
}

function inputAttributes(field: FormField): Attributes {
  const { precision, allowed_file_extensions: extensions, captcha } = propertiesOf(field);
  const isHoneypot = field.type === "captcha" && !captcha;
  return {
    type: INPUT_TYPES.get(field.type) ?? field.type,
    ...placeholderOf(field),
    value: field.type === "file" || field.type === "captcha" ? undefined : field.defaultValue || "",
    step: field.type === "number" ? stepOf(precision) : undefined,
    accept: field.type === "file" && Array.isArray(extensions) ? acceptOf(extensions) : undefined,
    "data-svc-company-lookup": field.type === "companyLookup" ? true : undefined,
    ...(isHoneypot && { tabindex: -1, autocomplete: "off" }),
  };
}

function stepOf(precision: unknown): string {
  const digits = Number(textOf(precision) ?? 0);
  return digits > 0 ? (1 / 10 ** digits).toFixed(digits) : "any";
}

function acceptOf(extensions: unknown[]): string | undefined {
  return extensions.length > 0 ? extensions.map((extension) => `.${extension}`).join(",") : undefined;
}

function buttonOf(field: FormField, { inputId }: FieldPlace): Html {
  const type = propertiesOf(field).type === "reset" ? "reset" : "submit";
  const own = { type, name: nameOf(field), id: inputId, class: "svcform-button", value: "1" };
  return element("button", own, addedTo(field), [html`${field.label}`]);
}

function selectOf(field: FormField, place: FieldPlace): Html {
  const { multiple, placeholder } = propertiesOf(field);
  const isMultiple = multiple === 1;
  const chosen = defaultsOf(field);
  const own = {
    ...commonOf(field, place, "svcform-selectbox"),
    name: nameOf(field, isMultiple),
    multiple: isMultiple ? (true as const) : undefined,
  };
  const none = isMultiple ? [] : [html`<option value="">${textOf(placeholder) ?? ""}</option>`];
  return element("select", own, addedTo(field), [
    ...none,
    ...choicesOf(field).map(({ label, value }) =>
      element("option", { value, selected: chosen.has(value) || undefined }, {}, [html`${label}`]),
    ),
  ]);
}

function groupOf(field: FormField, { inputId }: FieldPlace): string {
  const isMultiple = field.type === "checkboxgrp";
  const chosen = defaultsOf(field);
  const labelAdded = attributesOf(textOf(propertiesOf(field).labelAttributes) ?? "");
  const rows = choicesOf(field).map(({ label, value }, index) => {
    const id = `${inputId}_${index + 1}`;
    const own = {
      type: isMultiple ? "checkbox" : "radio",
      name: nameOf(field, isMultiple),
      id,
      class: `svcform-${field.type}-input`,
      value,
      checked: chosen.has(value) || undefined,
    };
    return element("div", { class: `svcform-${field.type}-row` }, {}, [
      element("input", own, addedTo(field)),
      element("label", { for: id, class: `svcform-${field.type}-label` }, labelAdded, [html`${label}`]),
    ]);
  });
  return rows.map(({ markup }) => markup).join("");
}

/** Several are separated by `|`. */
function defaultsOf({ defaultValue }: FormField): Set<string> {
  return new Set((defaultValue ?? "").split("|").filter((value) => value !== ""));
}

function choicesOf(field: FormField): Option[] {
  if (field.type === "country") return COUNTRIES;
  const { list, optionlist } = propertiesOf(field);
  const kept = isGroup(field) ? optionlist : list;
  return isObject(kept) && Array.isArray(kept.list) ? (kept.list as Option[]) : [];
}
