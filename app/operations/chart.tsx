/** A bar; null where the value is unknown. `peak` is a line above it. */
export type Bar = { at: string; value: number | null; peak?: number | null }

export type Tick = { value: number; label: string }

/**
 * Bars on a logarithmic scale up to the first of `ticks` that is above all of them. `label` says the same in words.
 * Positions are percentages, so that the chart fills the width and its text is not stretched.
 */
export function Chart({ label, bars, ticks }: { label: string; bars: Bar[]; ticks: Tick[] }) {
  const most = Math.max(...bars.map(({ value, peak }) => Math.max(value ?? 0, peak ?? 0)))
  const top = ticks.find(({ value }) => value >= most) ?? ticks.at(-1)!
  const shown = ticks.filter(({ value }) => value <= top.value)
  const heightOf = (value: number) => (100 * Math.log1p(Math.min(value, top.value))) / Math.log1p(top.value)
  const share = 100 / bars.length
  const lines = [{ value: 0, label: '' }, ...shown].map((tick) => ({ ...tick, y: percent(100 - heightOf(tick.value)) }))
  return (
    <div className="mt-3 flex">
      <svg aria-hidden="true" className="h-36 w-14 shrink-0 overflow-visible">
        {lines.map(({ value, label, y }) => (
          <text key={value} y={y} dy="4" className="fill-muted text-[11px]">
            {label}
          </text>
        ))}
      </svg>
      <svg role="img" aria-label={label} className="h-36 min-w-0 flex-1 overflow-visible">
        {lines.map(({ value, y }) => (
          <line key={value} x1="0" x2="100%" y1={y} y2={y} className="stroke-line" />
        ))}
        {bars.map((bar, i) => (
          <BarShown key={bar.at} bar={bar} x={i * share} width={share} heightOf={heightOf} />
        ))}
      </svg>
    </div>
  )
}

type BarShownProps = { bar: Bar; x: number; width: number; heightOf: (value: number) => number }

function BarShown({ bar: { value, peak }, x, width, heightOf }: BarShownProps) {
  const place = { x: percent(x + width * 0.1), width: percent(width * 0.8) }
  if (value === null) return <rect {...place} y="100%" height="3" className="fill-warn" />
  return (
    <>
      <rect {...place} y={percent(100 - heightOf(value))} height={percent(heightOf(value))} className="fill-accent" />
      {peak ? <rect {...place} y={percent(100 - heightOf(peak))} height="2" className="fill-muted" /> : null}
    </>
  )
}

function percent(share: number): string {
  return `${Number(share.toFixed(2))}%`
}
