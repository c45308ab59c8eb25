/** One of several things that can be chosen together: its name in code, and what it means. */
export function Checkbox(props: { name: string; value: string; isChosen: boolean; about: string }) {
  const { name, value, isChosen, about } = props
  return (
    <label className="flex cursor-pointer gap-3 rounded-lg border border-line p-3 has-[:checked]:border-accent-ink has-[:checked]:bg-accent/5">
      <input
        type="checkbox"
        name={name}
        value={value}
        defaultChecked={isChosen}
        className="mt-1 size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0">
        <code className="block break-words font-mono text-sm">{value}</code>
        <span className="block text-sm text-muted">{about}</span>
      </span>
    </label>
  )
}
