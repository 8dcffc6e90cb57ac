import { BATCH_SIZE, type CreatedContacts, person } from "../contacts.ts";
import { journey } from "../journey.ts";
import { BATCH } from "../limits.ts";

/** A program brings its contacts, two hundred at a time, corrects them, and takes them away again. */
export const contactImport = journey({
  perMinute: 6,
  endpoints: {
    "POST /contacts/batch/new": BATCH,
    "PATCH /contacts/batch/edit": BATCH,
    "DELETE /contacts/batch/delete": BATCH,
  },
  prepare: () => undefined,
  iterate(api, _data, mark) {
    const body = Array.from({ length: BATCH_SIZE }, (_, index) => person(`${mark}-${index}`, index));
    const { contacts } = api<CreatedContacts>("POST /contacts/batch/new", { body, status: 201 });
    const changes = contacts.map(({ id }, index) => ({ id, position: `Position ${index % 7}` }));
    api("PATCH /contacts/batch/edit", { body: changes });
    const query = `ids=${contacts.map(({ id }) => id).join(",")}`;
    api("DELETE /contacts/batch/delete", { query });
  },
  remove: () => undefined,
});
