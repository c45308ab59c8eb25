// Loaded first, because an older Node stops at the first file in TypeScript, or at a package, with an error that
// explains nothing.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`Punctual needs Node 24 or newer; this is Node ${process.versions.node}.\n`)
  process.exit(1)
}
