/** Fields of forms that belong to a field of the contact. */
export const MAIL_FIELD = {
  label: "E-mail",
  alias: "mail",
  type: "email",
  mappedObject: "contact",
  mappedField: "email",
};
export const FIRST_FIELD = {
  label: "First",
  alias: "first",
  type: "text",
  mappedObject: "contact",
  mappedField: "firstname",
};

/** A published form that thanks. */
export function thankingForm(name: string, fields: object[]) {
  return { name, isPublished: true, postAction: "message", postActionProperty: "Thanks", fields };
}
