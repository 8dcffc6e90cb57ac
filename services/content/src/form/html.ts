import type { Form, FormField } from "@tidings/proto/tidings/content/v1/form";
import { latinWord } from "@tidings/resource/field-word";
import { propertiesOf } from "@tidings/resource/properties";
import { type Html, html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";
import { attributesOf, element, markupOf } from "./attributes.ts";
import { conditionsOf } from "./field.ts";
import { isViewOnly } from "./field-types.ts";
import { type FieldPlace, inputOf, isGroup } from "./input-html.ts";

const NAME_LENGTH_MAX = 191;

const STYLE: Html = {
  markup: `<style>
.svcform_wrapper { max-width: 600px; margin: 10px auto; }
.svcform-row { display: block; margin-bottom: 20px; }
.svcform-row fieldset { border: 0; margin: 0; padding: 0; }
.svcform-label { display: block; font-size: 1.1em; font-weight: bold; margin-bottom: 5px; }
.svcform-required .svcform-label::after { content: " *"; }
.svcform-helpmessage { display: block; font-size: 0.9em; margin-bottom: 3px; }
.svcform-errormsg, .svcform-error { display: block; color: #b00020; margin-top: 2px; }
.svcform-input, .svcform-selectbox, .svcform-textarea { box-sizing: border-box; width: 100%; padding: 0.5em; }
.svcform-button { padding: 0.6em 1.2em; }
</style>`,
};

/** A form as HTML, as visitors get it, on whatever site. All that is not HTML by its nature is escaped. It is sent to `publicUrl`. */
export function formHtml(form: Form, publicUrl: string): string {
  const name = latinWord(form.name, NAME_LENGTH_MAX).replaceAll("_", "") || `form-${form.id}`;
  const pages = pagesOf(form.fields).map((fields, index, all) =>
    element(
      "div",
      { class: `svcform-page-wrapper svcform-page-${index + 1}`, "data-svc-form-page": index + 1 },
      {},
      [...fields.map((field) => rowOf(form, field, name)), ...turnsOf(all, index)],
    ),
  );
  const own = {
    id: `svcform_${name}`,
    method: "post",
    action: new URL(`/form/submit?formId=${form.id}`, publicUrl).href,
    enctype: "multipart/form-data",
    "data-svc-form": name,
  };
  const content = element("form", own, attributesOf(form.formAttributes), [
    html`<div class="svcform-error" id="svcform_${name}_error" role="alert"></div>`,
    html`<div class="svcform-message" id="svcform_${name}_message" role="status"></div>`,
    element("div", { class: "svcform-innerform" }, {}, pages),
    html`<input type="hidden" name="svcform[formId]" id="svcform_${name}_id" value="${form.id}">`,
    html`<input type="hidden" name="svcform[return]" id="svcform_${name}_return" value="">`,
    html`<input type="hidden" name="svcform[formName]" id="svcform_${name}_name" value="${name}">`,
  ]);
  const wrapper = element("div", { id: `svcform_wrapper_${name}`, class: "svcform_wrapper" }, {}, [content]);
  return markupOf(form.renderStyle ? [STYLE, wrapper] : [wrapper]);
}

/** A page break begins another page. */
function pagesOf(fields: FormField[]): FormField[][] {
  const pages: FormField[][] = [[]];
  for (const field of fields) {
    if (field.type === "pagebreak") pages.push([]);
    pages.at(-1)?.push(field);
  }
  return pages;
}

/** The buttons that lead to the pages before and after. A page begins with the break that made it. */
function turnsOf(pages: FormField[][], index: number): Html[] {
  const turn = (field: FormField | undefined, direction: "prev" | "next", usual: string) => {
    if (field?.type !== "pagebreak") return [];
    const label = textOf(propertiesOf(field)[`${direction}_page_label`]) || usual;
    return [
      html`<button type="button" class="svcform-pagebreak-${direction}" data-svc-form-pagebreak="${direction}">${label}</button>`,
    ];
  };
  return [...turn(pages[index]?.[0], "prev", "Back"), ...turn(pages[index + 1]?.[0], "next", "Next")];
}

function rowOf(form: Form, field: FormField, name: string): Html {
  if (field.type === "pagebreak") return { markup: "" };
  const place = placeOf(field, name);
  if (field.type === "hidden") return inputOf(field, place);
  const isHoneypot = field.type === "captcha" && !propertiesOf(field).captcha;
  const isRequired = field.isRequired === true && !isViewOnly(field);
  const classes = ["svcform-row", `svcform-${field.type}`, `svcform-field-${field.order ?? 0}`];
  const own = {
    id: `svcform_${name}_${field.alias}`,
    class: (isRequired ? [...classes, "svcform-required"] : classes).join(" "),
    ...(isRequired && { "data-validate": field.alias, "data-validation-type": field.type }),
    ...shownOn(form, field),
    ...(isHoneypot && { style: "display: none;", "aria-hidden": "true" }),
  };
  return element("div", own, attributesOf(field.containerAttributes), contentOf(field, place));
}

function contentOf(field: FormField, place: FieldPlace): Html[] {
  const { text } = propertiesOf(field);
  if (field.type === "button") return [inputOf(field, place)];
  if (field.type === "freehtml" || field.type === "freetext") {
    // Its author writes HTML here, as in a page.
    const body = { markup: `<div>${textOf(text) ?? ""}</div>` };
    return field.showLabel === false ? [body] : [html`<div class="svcform-label">${field.label}</div>`, body];
  }
  const error = field.validationMessage || "This is required.";
  const help = field.helpMessage
    ? [html`<span class="svcform-helpmessage" id="${place.helpId}">${field.helpMessage}</span>`]
    : [];
  const errors = html`<span class="svcform-errormsg" id="${place.errorId}" style="display: none;">${error}</span>`;
  const label = field.showLabel === false ? [] : [labelOf(field, place)];
  const parts = [...label, ...help, inputOf(field, place), errors];
  return isGroup(field) ? [groupOf(field, place, parts)] : parts;
}

function labelOf(field: FormField, { inputId }: FieldPlace): Html {
  const added = attributesOf(field.labelAttributes);
  return isGroup(field)
    ? element("legend", { class: "svcform-label" }, added, [html`${field.label}`])
    : element("label", { class: "svcform-label", for: inputId }, added, [html`${field.label}`]);
}

/** Only a group of which one is chosen can be required (WAI-ARIA 1.2, aria-required). */
function groupOf(field: FormField, { describedBy }: FieldPlace, parts: Html[]): Html {
  const isOne = field.type === "radiogrp";
  const own = {
    ...(isOne && { role: "radiogroup" }),
    ...(isOne && field.isRequired && { "aria-required": "true" }),
    ...(field.showLabel === false && { "aria-label": field.label }),
    "aria-describedby": describedBy,
  };
  return element("fieldset", own, {}, parts);
}

function placeOf(field: FormField, name: string): FieldPlace {
  const helpId = `svcform_help_${name}_${field.alias}`;
  const errorId = `svcform_error_${name}_${field.alias}`;
  return {
    inputId: `svcform_input_${name}_${field.alias}`,
    helpId,
    errorId,
    describedBy: field.helpMessage ? `${helpId} ${errorId}` : errorId,
  };
}

/** The condition that the script of a page needs to show the field. */
function shownOn({ fields }: Form, field: FormField) {
  const parent = fields.find(({ id }) => id > 0 && id === field.parent);
  const conditions = conditionsOf(field);
  if (!parent || !conditions) return {};
  const values = conditions.any ? "*" : conditions.values.join("|");
  return {
    "data-svc-form-show-on": `${parent.alias}:${values}`,
    "data-svc-form-expr": conditions.expr,
  };
}
