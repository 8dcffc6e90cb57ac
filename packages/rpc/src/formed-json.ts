import type { Form, FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";

/** Stands between constants and between values. In JSON it would be written as an escape. */
export const SEPARATOR = "\u001f";

const constantsOf = new WeakMap<Pick<Form, "constants">, string[]>();

/** The JSON that values make with a form. */
export function fill(form: Pick<Form, "constants" | "slots">, values: string): string {
  const constants = constantsOf.get(form) ?? form.constants.split(SEPARATOR);
  constantsOf.set(form, constants);
  const texts = values.split(SEPARATOR);
  let text = constants[0] ?? "";
  for (let index = 0; index < form.slots.length; index += 1)
    text += (texts[form.slots[index] as number] as string) + constants[index + 1];
  return text;
}

/** Gives each of an answer's texts, in their order, the form that came with the first. */
export function shareForm(texts: (FormedJson | undefined)[]): void {
  let form: Form | undefined;
  for (const text of texts) {
    form = text?.form ?? form;
    if (text && form) text.form = form;
  }
}

/** The JSON as text. One without a form has it as its only value. */
export function textOf({ form, values }: Pick<FormedJson, "form" | "values">): string {
  return form ? fill(form, values) : values;
}
