import { customType, timestamp, uuid } from 'drizzle-orm/pg-core'
import { v7 as uuidv7 } from 'uuid'

// Every row belongs to an organisation; a foreign key that crosses rows of one carries the organisation along,
// so that the database itself refuses a post on another organisation's channel.

export const id = () => uuid().primaryKey().$defaultFn(uuidv7)
// Milliseconds: JavaScript has no microseconds, and a cursor made from a rounded instant skips rows.
export const instant = () => timestamp({ withTimezone: true, precision: 3 })
export const createdAt = () => instant().notNull().defaultNow()
export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' })
