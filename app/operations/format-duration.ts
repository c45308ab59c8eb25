const units = [
  { ms: 86_400_000, name: 'days' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1000, name: 's' },
]

/** A duration in milliseconds as a text, in the largest unit of which it has at least two. From ten on it has no decimals. */
export function formatDuration(ms: number): string {
  const unit = units.find((unit) => ms >= 2 * unit.ms)
  if (!unit) return `${Math.round(ms)} ms`
  const amount = ms / unit.ms
  return `${amount < 10 ? Number(amount.toFixed(1)) : Math.round(amount)} ${unit.name}`
}
