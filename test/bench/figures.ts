/** What was measured: `runs` hold one value a run, `beside` what it is to be compared with, measured in the same run. */
export type Figure = {
  part: string
  name: string
  unit: string
  runs: number[]
  beside?: { name: string; unit?: string; runs: number[] }
  goal?: Goal
}

/** What the figure, or its ratio to what stands beside it, should be. */
export type Goal = { of: 'figure' | 'ratio'; atMost: number } | { of: 'figure' | 'ratio'; atLeast: number }

/** The value below which the share `q` of `values` lies (nearest rank). */
export function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return Number.isInteger(middle) ? (sorted[middle - 1]! + sorted[middle]!) / 2 : sorted[Math.floor(middle)]!
}

/** A figure as one flat object: medians, the ratio, and whether the goal is met (null without one). */
export function summaryOf({ part, name, unit, runs, beside, goal }: Figure) {
  const value = median(runs)
  const ratio = beside ? value / median(beside.runs) : null
  return {
    part,
    name,
    unit,
    value,
    runs,
    beside: beside ?? null,
    ratio,
    goal: goal ?? null,
    isMet: isMet(goal, value, ratio),
  }
}

/** All figures as a Markdown table. */
export function tableOf(figures: Figure[]): string {
  const rows = figures.map((figure) => {
    const { beside } = figure
    const { part, value, ratio, isMet } = summaryOf(figure)
    const met = isMet === null ? '' : isMet ? ', met' : ', **missed**'
    return [
      part,
      figure.name,
      withUnit(value, figure.unit),
      beside ? `${beside.name}: ${withUnit(median(beside.runs), beside.unit ?? figure.unit)}` : '',
      ratio === null ? '' : ratio.toFixed(2),
      figure.goal ? wordsOf(figure.goal, figure.unit) + met : '',
    ]
  })
  const head = ['', 'measured', 'figure', 'beside it', 'ratio', 'goal']
  const widths = head.map((title, i) => Math.max(title.length, 3, ...rows.map((row) => row[i]!.length)))
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n')
}

function isMet(goal: Goal | undefined, value: number, ratio: number | null): boolean | null {
  if (!goal) return null
  const measured = goal.of === 'ratio' ? (ratio ?? Number.NaN) : value
  return 'atMost' in goal ? measured <= goal.atMost : measured >= goal.atLeast
}

function wordsOf(goal: Goal, unit: string): string {
  const bound = 'atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`
  return goal.of === 'ratio' ? `${bound} ×` : `${bound} ${unit}`
}

function withUnit(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${value.toFixed(digits)} ${unit}`
}
