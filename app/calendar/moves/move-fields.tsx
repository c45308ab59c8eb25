type MoveFieldsProps = { id: string; version: number; from: string | null; queueId: string | null }

/** The hidden fields of a form that moves a post: which one, and where it was before. */
export function MoveFields({ id, version, from, queueId }: MoveFieldsProps) {
  return (
    <>
      <input type="hidden" name="id" value={id} />
      <input type="hidden" name="version" value={version} />
      <input type="hidden" name="from" value={from ?? ''} />
      <input type="hidden" name="queue" value={queueId ?? ''} />
    </>
  )
}
