import { and, eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { clientRegistrations } from '../../db/schema/channels.ts'
import { open, SealError, seal } from '../../db/sealed.ts'
import type { Registrations } from '../../jobs/networks/network.ts'
import type { Installation } from '../access/trpc.ts'

type Owner = Pick<Installation, 'db' | 'ring'> & { organisationId: string }

/** The registrations that an organisation has at servers of `network`. One that no key opens does not count. */
export function registrationsOf(
  { db, ring, organisationId }: Owner,
  network: string,
): Registrations & { servers: () => Promise<string[]> } {
  const at = (server: string) =>
    and(
      eq(clientRegistrations.organisationId, organisationId),
      eq(clientRegistrations.network, network),
      eq(clientRegistrations.server, server),
    )
  const place = (id: string) => ({ table: 'client_registrations', id, organisationId, field: 'sealed' })
  const forget = async (server: string) => void (await db.delete(clientRegistrations).where(at(server)))
  return {
    forget,
    async servers() {
      const { server, network: of, organisationId: whose } = clientRegistrations
      const rows = await db
        .select({ server })
        .from(clientRegistrations)
        .where(and(eq(whose, organisationId), eq(of, network)))
      return rows.map(({ server }) => server)
    },
    async of(server) {
      const [row] = await db.select().from(clientRegistrations).where(at(server))
      try {
        return row ? JSON.parse(open(ring, place(row.id), row.sealed)) : null
      } catch (error) {
        if (error instanceof SealError) return null
        throw error
      }
    },
    async keep(server, registration) {
      const id = uuidv7()
      const sealed = seal(ring, place(id), JSON.stringify(registration))
      await forget(server)
      // If two are made at the same time, either works: each flow has its own.
      await db.insert(clientRegistrations).values({ id, organisationId, network, server, sealed }).onConflictDoNothing()
    },
  }
}
