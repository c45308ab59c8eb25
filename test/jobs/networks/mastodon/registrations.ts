import type { Registrations } from '../../../../jobs/networks/network.ts'

/** Registrations that live as long as the test. */
export function registrationsInMemory(): Registrations {
  const kept = new Map<string, unknown>()
  return {
    of: async (server) => kept.get(server) ?? null,
    keep: async (server, registration) => void kept.set(server, registration),
    forget: async (server) => void kept.delete(server),
  }
}
