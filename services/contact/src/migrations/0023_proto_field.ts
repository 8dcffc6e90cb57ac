import { statements } from "@tidings/database/statements";
import type { Migration } from "kysely/migration";

/**
 * A field of bytes as a message carries it (Protocol Buffers, encoding: a tag, the length as a varint, the bytes), of up
 * to 256 MB, in a message whose field has a number below 16.
 */
export const encodeProtoFields: Migration = statements(
  `create function proto_field(number integer, value bytea) returns bytea
   language sql immutable strict parallel safe
   as $$
     select set_byte('\\x00', 0, number << 3 | 2) || case
       when length(value) < 1 << 7 then set_byte('\\x00', 0, length(value))
       when length(value) < 1 << 14 then
         set_byte(set_byte('\\x0000', 0, length(value) & 127 | 128), 1, length(value) >> 7)
       when length(value) < 1 << 21 then
         set_byte(set_byte(set_byte('\\x000000', 0, length(value) & 127 | 128),
           1, length(value) >> 7 & 127 | 128), 2, length(value) >> 14)
       else
         set_byte(set_byte(set_byte(set_byte('\\x00000000', 0, length(value) & 127 | 128),
           1, length(value) >> 7 & 127 | 128), 2, length(value) >> 14 & 127 | 128), 3, length(value) >> 21)
     end || value
   $$`,
);
