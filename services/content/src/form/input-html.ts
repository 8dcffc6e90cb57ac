import type { FormField } from "@tidings/proto/tidings/content/v1/form";
import { isObject } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { type Html, html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";
import isoNames from "i18n-iso-countries/langs/en.json" with { type: "json" };
import { type Attributes, attributesOf, element } from "./attributes.ts";
import { isTrap } from "./field-types.ts";
import type { Option } from "./options.ts";

/** The ids of the elements that a field is made of. */
export interface FieldPlace {
  /** The word in classes and names: `svc`. */
  prefix: string;
  inputId: string;
  helpId: string;
  errorId: string;
  /** The ids of the elements that describe it. */
  describedBy: string;
  /** Texts that it is filled with, in place of its default. */
  filled: string[] | undefined;
  /** Is it shown with what is wrong with it? */
  isInvalid: boolean;
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
        { ...commonOf(field, place, `${place.prefix}form-textarea`), ...placeholderOf(field) },
        addedTo(field),
        [html`${place.filled?.[0] ?? field.defaultValue}`],
      );
    default:
      return element(
        "input",
        { ...commonOf(field, place, `${place.prefix}form-input`), ...inputAttributes(field, place) },
        addedTo(field),
      );
  }
}

function addedTo({ inputAttributes }: FormField): Attributes {
  return attributesOf(inputAttributes);
}

function commonOf(field: FormField, place: FieldPlace, name: string): Attributes {
  const { inputId, describedBy, isInvalid } = place;
  if (field.type === "hidden") return { id: inputId, name: nameOf(field, place) };
  return {
    id: inputId,
    name: nameOf(field, place),
    "aria-invalid": isInvalid ? "true" : undefined,
    class: name,
    "aria-label": field.showLabel === false ? field.label : undefined,
    "aria-required": field.isRequired ? "true" : undefined,
    "aria-describedby": describedBy,
  };
}

function nameOf({ alias }: FormField, { prefix }: FieldPlace, isMultiple = false): string {
  return `${prefix}form[${alias}]${isMultiple ? "[]" : ""}`;
}

function placeholderOf(field: FormField): Attributes {
  const { placeholder } = propertiesOf(field);
  return { placeholder: textOf(placeholder) || undefined };
}

/** Neither files nor answers nor passwords are shown again. */
const NOT_SHOWN = new Set(["file", "captcha", "password"]);

function inputAttributes(field: FormField, { prefix, filled }: FieldPlace): Attributes {
  const { precision, allowed_file_extensions: extensions } = propertiesOf(field);
  return {
    type: INPUT_TYPES.get(field.type) ?? field.type,
    ...placeholderOf(field),
    value: NOT_SHOWN.has(field.type) ? undefined : (filled?.[0] ?? (field.defaultValue || "")),
    step: field.type === "number" ? stepOf(precision) : undefined,
    accept: field.type === "file" && Array.isArray(extensions) ? acceptOf(extensions) : undefined,
    [`data-${prefix}-company-lookup`]: field.type === "companyLookup" ? true : undefined,
    ...(isTrap(field) && { tabindex: -1, autocomplete: "off" }),
  };
}

function stepOf(precision: unknown): string {
  const digits = Number(textOf(precision) ?? 0);
  return digits > 0 ? (1 / 10 ** digits).toFixed(digits) : "any";
}

function acceptOf(extensions: unknown[]): string | undefined {
  return extensions.length > 0 ? extensions.map((extension) => `.${extension}`).join(",") : undefined;
}

function buttonOf(field: FormField, place: FieldPlace): Html {
  const { inputId, prefix } = place;
  const type = propertiesOf(field).type === "reset" ? "reset" : "submit";
  const own = { type, name: nameOf(field, place), id: inputId, class: `${prefix}form-button`, value: "1" };
  return element("button", own, addedTo(field), [html`${field.label}`]);
}

function selectOf(field: FormField, place: FieldPlace): Html {
  const { multiple, placeholder } = propertiesOf(field);
  const isMultiple = multiple === 1;
  const chosen = chosenOf(field, place);
  const own = {
    ...commonOf(field, place, `${place.prefix}form-selectbox`),
    name: nameOf(field, place, isMultiple),
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

function groupOf(field: FormField, place: FieldPlace): string {
  const { inputId, prefix } = place;
  const isMultiple = field.type === "checkboxgrp";
  const chosen = chosenOf(field, place);
  const labelAdded = attributesOf(textOf(propertiesOf(field).labelAttributes) ?? "");
  const rows = choicesOf(field).map(({ label, value }, index) => {
    const id = `${inputId}_${index + 1}`;
    const own = {
      type: isMultiple ? "checkbox" : "radio",
      name: nameOf(field, place, isMultiple),
      id,
      class: `${prefix}form-${field.type}-input`,
      value,
      checked: chosen.has(value) || undefined,
    };
    return element("div", { class: `${prefix}form-${field.type}-row` }, {}, [
      element("input", own, addedTo(field)),
      element("label", { for: id, class: `${prefix}form-${field.type}-label` }, labelAdded, [html`${label}`]),
    ]);
  });
  return rows.map(({ markup }) => markup).join("");
}

/** The choices that were made, or else those of the form, of which several are separated by `|`. */
function chosenOf({ defaultValue }: FormField, { filled }: FieldPlace): Set<string> {
  return new Set(filled ?? (defaultValue ?? "").split("|").filter((value) => value !== ""));
}

function choicesOf(field: FormField): Option[] {
  if (field.type === "country") return COUNTRIES;
  const { list, optionlist } = propertiesOf(field);
  const kept = isGroup(field) ? optionlist : list;
  return isObject(kept) && Array.isArray(kept.list) ? (kept.list as Option[]) : [];
}
