import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import {
  alias,
  choices,
  html,
  length_max as lengthMax,
  required,
} from "@tidings/proto/tidings/api/v1/options";
import { type Column, columnsOf } from "@tidings/resource/columns";
import { optionOf } from "@tidings/rpc/option";
import type { Bodies } from "./resources.ts";

/** Bodies made of what a message declares of its fields. */
export function declaredBodies(message: DescMessage, unique: () => string): Bodies {
  const columns = columnsOf(message).filter(isSent);
  const needed = columns.filter(({ field }) => optionOf(field, required));
  const others = columns.filter((column) => !needed.includes(column));
  const changed = others.at(-1);
  if (!changed) throw new Error(`${message.typeName} has no member that could be changed`);
  const bodyOf = (some: Column[], number: number) => () =>
    Object.fromEntries(some.map((column) => [column.field.jsonName, sampleOf(column, unique(), number)]));
  const kept = others.filter((column) => column !== changed && !isAlias(column.field));
  return {
    minimal: bodyOf(needed, 1),
    full: bodyOf([...needed, ...kept], 1),
    change: bodyOf([changed], 2)(),
    cleared: Object.fromEntries(kept.map((column) => [column.field.jsonName, clearedTo(column)])),
    fixed: columns.filter(({ immutable }) => immutable).map(({ field }) => field.jsonName),
    refused: Object.fromEntries(
      columns.flatMap((column) => {
        const bad = badValue(column);
        return bad === undefined ? [] : [[blamed(column.field), { ...bodyOf(needed, 1)(), ...bad }]];
      }),
    ),
    read: (entity, key) => entity[key],
  };
}

/** True for members that a caller sends and that are no ids of something else, which would have to exist. */
function isSent({ outputOnly, name, field }: Column): boolean {
  return !outputOnly && (name === field.name || field.fieldKind !== "message");
}

function isAlias(field: DescField): boolean {
  return optionOf(field, alias).of !== "";
}

function sampleOf({ field, type, immutable }: Column, text: string, number: number): unknown {
  const known = optionOf(field, choices);
  if (known.length > 0) return known[number % known.length];
  if (field.fieldKind === "list") return [];
  if (type === "timestamp") return `2026-01-0${number}T03:04:00+00:00`;
  if (type === "boolean") return false;
  if (type !== "text") return number;
  const max = optionOf(field, lengthMax) || 191;
  // The last characters make them differ.
  return immutable ? "x".repeat(Math.min(max, 5)) : `Text ${text}`.slice(-max);
}

function clearedTo({ nullable, zero, type, field }: Column): unknown {
  if (field.jsonName === "isPublished") return false;
  return nullable && type !== "boolean" ? null : zero;
}

/** The member that a violation names: of a list of messages the message. */
function blamed({ fieldKind, message, jsonName }: DescField): string {
  return fieldKind === "list" && message ? `${jsonName}[0]` : jsonName;
}

/** A body with a value that the member does not take; undefined when it takes everything. */
function badValue({ field, type }: Column): object | undefined {
  const max = optionOf(field, lengthMax);
  const bad = () => {
    if (optionOf(field, choices).length > 0) return "none of them";
    if (optionOf(field, required) && type === "text") return " ";
    if (field.fieldKind === "list") return [["nested"]];
    if (type === "text")
      return max > 0 ? "x".repeat(max + 1) : optionOf(field, html) ? { nested: true } : ["a"];
    return "perhaps";
  };
  const isJson = field.fieldKind === "scalar" && field.scalar === ScalarType.BYTES;
  return isJson ? undefined : { [field.jsonName]: bad() };
}
