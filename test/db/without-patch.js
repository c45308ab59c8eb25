import { registerHooks } from 'node:module'

// Before a process of the product, this gives it the driver as if it had been installed without its patch.
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith('/postgres/src/index.js')) return loaded
    return { ...loaded, source: String(loaded.source).replace('oneQueryAtATime', 'none') }
  },
})
