import type { Form, FormField } from "@tidings/proto/tidings/content/v1/form";
import { latinWord } from "@tidings/resource/field-word";
import { propertiesOf } from "@tidings/resource/properties";
import { type Html, html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";
import { attributesOf, element, markupOf } from "./attributes.ts";
import { conditionsOf } from "./field.ts";
import { isTrap, isViewOnly } from "./field-types.ts";
import { type FieldPlace, inputOf, isGroup } from "./input-html.ts";
import { SHOWN_AT } from "./showing.ts";
import { TRAP } from "./suspicion.ts";

const NAME_LENGTH_MAX = 191;

const styleOf = (prefix: string): Html => ({
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
</style>`.replaceAll(".svcform", `.${prefix}form`),
});

/** How a form is shown. */
export interface FormShown {
  /** Where it is sent to. */
  publicUrl: string;
  /** The word in its ids, classes and names: `svc`. */
  prefix: string;
  /** Texts that its fields are filled with, by their aliases. */
  filled?: ReadonlyMap<string, string[]>;
  /** Messages about wrong values, by the aliases of their fields. */
  errors?: ReadonlyMap<string, string>;
  /** Ids of fields that are not shown to this visitor. */
  hidden?: ReadonlySet<number>;
  /** Ids of fields that are sent as they are filled, and not seen. */
  unseen?: ReadonlySet<number>;
  /** The page to come back to. */
  returnTo?: string;
  /** Names the submission: sent twice, it is taken once. */
  submissionKey?: string;
  /** The landing page that it stands in. */
  pageId?: number;
  /** Says when it is shown: see `signShown`. */
  shownAt?: string;
  /** Says whose browser it is in: see `signDevice`. */
  deviceToken?: string | undefined;
}

/** The word in the ids of a form's elements. */
export function formWord({ id, name }: Pick<Form, "id" | "name">): string {
  return latinWord(name, NAME_LENGTH_MAX).replaceAll("_", "") || `form-${id}`;
}

/** A form as HTML, as visitors get it, on whatever site. All that is not HTML by its nature is escaped. */
export function formHtml(form: Form, shown: FormShown): string {
  const {
    publicUrl,
    prefix,
    hidden,
    returnTo = "",
    submissionKey = "",
    shownAt,
    pageId,
    deviceToken,
  } = shown;
  const name = formWord(form);
  const pages = pagesOf(form.fields.filter(({ id }) => !hidden?.has(id))).map((fields, index, all) =>
    element(
      "div",
      {
        class: `${prefix}form-page-wrapper ${prefix}form-page-${index + 1}`,
        [`data-${prefix}-form-page`]: index + 1,
      },
      {},
      [...fields.map((field) => rowOf(form, field, { ...shown, name })), ...turnsOf(all, index, prefix)],
    ),
  );
  const own = {
    id: `${prefix}form_${name}`,
    method: "post",
    action: new URL(`/form/submit?formId=${form.id}`, publicUrl).href,
    enctype: "multipart/form-data",
    [`data-${prefix}-form`]: name,
  };
  const hiddenInput = (member: string, word: string, value: string | number) =>
    html`<input type="hidden" name="${prefix}form[${member}]" id="${prefix}form_${name}_${word}" value="${value}">`;
  const content = element("form", own, attributesOf(form.formAttributes), [
    html`<div class="${prefix}form-error" id="${prefix}form_${name}_error" role="alert"></div>`,
    html`<div class="${prefix}form-message" id="${prefix}form_${name}_message" role="status"></div>`,
    element("div", { class: `${prefix}form-innerform` }, {}, pages),
    hiddenInput("formId", "id", form.id),
    hiddenInput("return", "return", returnTo),
    hiddenInput("formName", "name", name),
    hiddenInput("submissionKey", "key", submissionKey),
    trapOf(name, prefix),
    ...(shownAt === undefined ? [] : [hiddenInput(SHOWN_AT, "shown", shownAt)]),
    ...(pageId === undefined ? [] : [hiddenInput(`${prefix}page`, "page", pageId)]),
    ...(deviceToken === undefined ? [] : [html`<input type="hidden" name="device" value="${deviceToken}">`]),
  ]);
  const place = { id: `${prefix}form_wrapper_${name}`, class: `${prefix}form_wrapper` };
  const wrapper = element("div", place, {}, [content]);
  return markupOf(form.renderStyle ? [styleOf(prefix), wrapper] : [wrapper]);
}

/** An input that machines find and people do not: it is neither seen nor read out nor reached by keyboard, and no browser fills it in. */
function trapOf(name: string, prefix: string): Html {
  const id = `${prefix}form_${name}_more`;
  return html`<div hidden aria-hidden="true" style="display: none;"><label for="${id}">Leave this empty</label><input type="text" name="${prefix}form[${TRAP}]" id="${id}" value="" tabindex="-1" autocomplete="off"></div>`;
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
function turnsOf(pages: FormField[][], index: number, prefix: string): Html[] {
  const turn = (field: FormField | undefined, direction: "prev" | "next", usual: string) => {
    if (field?.type !== "pagebreak") return [];
    const label = textOf(propertiesOf(field)[`${direction}_page_label`]) || usual;
    return [
      html`<button type="button" class="${prefix}form-pagebreak-${direction}" data-${prefix}-form-pagebreak="${direction}">${label}</button>`,
    ];
  };
  return [...turn(pages[index]?.[0], "prev", "Back"), ...turn(pages[index + 1]?.[0], "next", "Next")];
}

type Shown = FormShown & { name: string };

function rowOf(form: Form, field: FormField, shown: Shown): Html {
  if (field.type === "pagebreak") return { markup: "" };
  const { name, prefix } = shown;
  const place = placeOf(field, shown);
  const isUnseen = shown.unseen?.has(field.id) && !shown.errors?.has(field.alias);
  if (field.type === "hidden" || isUnseen) return inputOf({ ...field, type: "hidden" }, place);
  const isRequired = field.isRequired === true && !isViewOnly(field);
  const classes = [
    `${prefix}form-row`,
    `${prefix}form-${field.type}`,
    `${prefix}form-field-${field.order ?? 0}`,
  ];
  const own = {
    id: `${prefix}form_${name}_${field.alias}`,
    class: (isRequired ? [...classes, `${prefix}form-required`] : classes).join(" "),
    ...(isRequired && { "data-validate": field.alias, "data-validation-type": field.type }),
    ...shownOn(form, field, prefix),
    ...(isTrap(field) && { style: "display: none;", "aria-hidden": "true" }),
  };
  return element(
    "div",
    own,
    attributesOf(field.containerAttributes),
    contentOf(field, place, shown.errors?.get(field.alias)),
  );
}

function contentOf(field: FormField, place: FieldPlace, wrong: string | undefined): Html[] {
  const { prefix } = place;
  const { text } = propertiesOf(field);
  if (field.type === "button") return [inputOf(field, place)];
  if (field.type === "freehtml" || field.type === "freetext") {
    // Its author writes HTML here, as in a page.
    const body = { markup: `<div>${textOf(text) ?? ""}</div>` };
    return field.showLabel === false
      ? [body]
      : [html`<div class="${prefix}form-label">${field.label}</div>`, body];
  }
  const error = wrong || field.validationMessage || "This is required.";
  const help = field.helpMessage
    ? [html`<span class="${prefix}form-helpmessage" id="${place.helpId}">${field.helpMessage}</span>`]
    : [];
  const isHidden = wrong ? undefined : "display: none;";
  const errors = element(
    "span",
    { class: `${prefix}form-errormsg`, id: place.errorId, style: isHidden },
    {},
    [html`${error}`],
  );
  const label = field.showLabel === false ? [] : [labelOf(field, place)];
  const parts = [...label, ...help, inputOf(field, place), errors];
  return isGroup(field) ? [groupOf(field, place, parts)] : parts;
}

function labelOf(field: FormField, { inputId, prefix }: FieldPlace): Html {
  const added = attributesOf(field.labelAttributes);
  return isGroup(field)
    ? element("legend", { class: `${prefix}form-label` }, added, [html`${field.label}`])
    : element("label", { class: `${prefix}form-label`, for: inputId }, added, [html`${field.label}`]);
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

function placeOf(field: FormField, { name, prefix, filled, errors }: Shown): FieldPlace {
  const helpId = `${prefix}form_help_${name}_${field.alias}`;
  const errorId = `${prefix}form_error_${name}_${field.alias}`;
  return {
    prefix,
    filled: filled?.get(field.alias),
    isInvalid: errors?.has(field.alias) ?? false,
    inputId: `${prefix}form_input_${name}_${field.alias}`,
    helpId,
    errorId,
    describedBy: field.helpMessage ? `${helpId} ${errorId}` : errorId,
  };
}

/** The condition that the script of a page needs to show the field. */
function shownOn({ fields }: Form, field: FormField, prefix: string) {
  const parent = fields.find(({ id }) => id > 0 && id === field.parent);
  const conditions = conditionsOf(field);
  if (!parent || !conditions) return {};
  const values = conditions.any ? "*" : conditions.values.join("|");
  return {
    [`data-${prefix}-form-show-on`]: `${parent.alias}:${values}`,
    [`data-${prefix}-form-expr`]: conditions.expr,
  };
}
