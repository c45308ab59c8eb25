import { customType, timestamp, uuid } from 'drizzle-orm/pg-core'
import { v7 as uuidv7 } from 'uuid'

// Every row belongs to an organisation. A foreign key between two such rows includes the organisation, so the database
// itself refuses a post on another organisation's channel.

export const id = () => uuid().primaryKey().$defaultFn(uuidv7)
// Milliseconds: JavaScript has no microseconds, and a cursor from a rounded instant would skip rows.
export const instant = () => timestamp({ withTimezone: true, precision: 3 })
export const createdAt = () => instant().notNull().defaultNow()
export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' })
