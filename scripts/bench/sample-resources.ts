import { nextNumber } from "./sample-contact.ts";

/** A resource beside contacts that is measured: a plain one, and those with many items. */
export interface SampleResource {
  /** How its lines are called. */
  name: string;
  title: string;
  path: string;
  one: string;
  many: string;
  table: string;
  /** How many there are, and how many are in a batch. */
  count: number;
  batchSize: number;
  body(): object;
}

const FORM_FIELDS = 30;
const CAMPAIGN_EVENTS = 100;

export const SAMPLE_RESOURCES: SampleResource[] = [
  {
    name: "plain",
    title: "point group",
    path: "points/groups",
    one: "pointGroup",
    many: "pointGroups",
    table: "campaign.point_groups",
    count: 2_000,
    batchSize: 200,
    body: () => ({ name: `Group ${nextNumber()}`, description: "Points for what is bought" }),
  },
  {
    name: "form",
    title: `form of ${FORM_FIELDS} fields`,
    path: "forms",
    one: "form",
    many: "forms",
    table: "content.forms",
    count: 1_000,
    batchSize: 20,
    body: () => ({
      name: `Form ${nextNumber()}`,
      fields: Array.from({ length: FORM_FIELDS }, (_, index) => ({
        label: `Question ${index}`,
        alias: `question_${index}`,
        type: index % 3 === 0 ? "select" : "text",
        helpMessage: "Say what you think",
        properties: index % 3 === 0 ? { list: ["red", "green", "blue"] } : { placeholder: "Here" },
      })),
    }),
  },
  {
    name: "campaign",
    title: `campaign of ${CAMPAIGN_EVENTS} events`,
    path: "campaigns",
    one: "campaign",
    many: "campaigns",
    table: "campaign.campaigns",
    count: 300,
    batchSize: 10,
    body: () => ({
      name: `Campaign ${nextNumber()}`,
      events: Array.from({ length: CAMPAIGN_EVENTS }, (_, index) => ({
        id: `new_${index}`,
        name: `Event ${index}`,
        type: "lead.changetags",
        triggerMode: "interval",
        triggerInterval: 1,
        triggerIntervalUnit: "d",
        properties: { add_tags: [`tag ${index}`] },
        // Each has two below it.
        ...(index > 0 && { parent: { id: `new_${Math.floor((index - 1) / 2)}` } }),
      })),
    }),
  },
];

export function tableIn(schema: string, { table }: SampleResource): string {
  return `${schema}.${table.split(".")[1]}`;
}
