import { check } from "k6";
import type { Entity } from "../api.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, LIST, VISIT, WRITE } from "../limits.ts";
import { until } from "../until.ts";
import { contactWith } from "../visitors.ts";

const FIELDS = ["email", "firstname", "city"].map((name) => ({
  label: name,
  alias: name,
  type: name === "email" ? "email" : "text",
  mappedObject: "contact",
  mappedField: name,
}));
const submissionToContact = domainLatency("submission_to_contact", FOLLOWING);

/** Somebody new opens a form, forgets the address, and then is a contact with what they typed. */
export const formSubmit = journey({
  perMinute: 30,
  endpoints: {
    "GET /form/:name": VISIT,
    "POST /form/submit/ajax": VISIT,
    "GET /contacts": LIST,
    "DELETE /contacts/:id/delete": WRITE,
  },
  latencies: [submissionToContact],
  prepare(api, run) {
    const [email, ...others] = FIELDS;
    const body = {
      name: `Form ${run}`,
      isPublished: true,
      postAction: "message",
      postActionProperty: "Thanks",
      fields: [{ ...email, isRequired: true }, ...others],
      actions: [{ type: "lead.pointschange", properties: { operator: "plus", points: 5 } }],
    };
    return api<{ form: Entity }>("POST /forms/new", { body, status: 201 }).form.id;
  },
  iterate(api, form, mark) {
    const email = `${mark}@example.com`;
    const submit = (values: Record<string, string>) =>
      api<{ success: number }>("POST /form/submit/ajax", {
        query: `formId=${form}`,
        form: Object.fromEntries(Object.entries(values).map(([name, text]) => [`svcform[${name}]`, text])),
      });
    api("GET /form/:name", { path: { name: form } });
    check(submit({ firstname: "Ada" }), {
      "a form without an address is refused": ({ success }) => success !== 1,
    });
    const answer = submit({ email, firstname: "Ada", city: "London" });
    const answeredAt = Date.now();
    if (!check(answer, { "the submission is taken": ({ success }) => success === 1 })) return;
    let id: number | undefined;
    const tookMs = until("the submission makes a contact", answeredAt, () => {
      id = contactWith(api, "email", email);
      return id !== undefined;
    });
    if (tookMs !== undefined) submissionToContact.add(tookMs);
    if (id !== undefined) api("DELETE /contacts/:id/delete", { path: { id } });
  },
  remove(api, form) {
    api("DELETE /forms/:id/delete", { path: { id: form } });
  },
});
