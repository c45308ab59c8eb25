/** A queue by its name. */
export type NamedQueue = { id: string; name: string }

/** The name of one of these queues. Null: it was deleted meanwhile. */
export function nameOf(queues: NamedQueue[], queueId: string): string | null {
  return queues.find(({ id }) => id === queueId)?.name ?? null
}
