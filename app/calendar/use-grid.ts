import { type ComponentType, useEffect, useState, useSyncExternalStore } from 'react'
import type { GridProps } from './grid.tsx'

/** The grid once its script is there. Null: it is on its way, or not wanted. */
export function useGrid(isWanted: boolean): ComponentType<GridProps> | 'failed' | null {
  const [grid, setGrid] = useState<{ Grid: ComponentType<GridProps> } | 'failed' | null>(null)
  useEffect(() => {
    if (!isWanted) return
    import('./grid.tsx').then(setGrid, () => setGrid('failed'))
  }, [isWanted])
  return grid === 'failed' ? grid : (grid?.Grid ?? null)
}

const narrow = '(max-width: 47.99rem)'

/** Whether the screen is small. Null before scripts run. */
export function useIsNarrow(): boolean | null {
  return useSyncExternalStore(
    (changed) => {
      const screen = matchMedia(narrow)
      screen.addEventListener('change', changed)
      return () => screen.removeEventListener('change', changed)
    },
    () => matchMedia(narrow).matches,
    () => null,
  )
}
