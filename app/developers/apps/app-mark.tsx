/** An app's picture, or its initial. It has no accessible name: the app's name stands beside it. */
export function AppMark({ app, size = 'size-10' }: { app: { name: string; picture: string | null }; size?: string }) {
  if (app.picture)
    return <img src={app.picture} alt="" className={`${size} shrink-0 rounded-xl bg-sunken object-cover`} />
  return (
    <span
      aria-hidden
      className={`${size} grid shrink-0 place-items-center rounded-xl bg-accent/10 font-semibold uppercase text-accent-ink`}
    >
      {[...app.name][0]}
    </span>
  )
}
