// What we use of libheif-js, which has no types for its bundle.
declare module 'libheif-js/wasm-bundle.js' {
  type Pixels = { data: Uint8ClampedArray; width: number; height: number } // RGBA, upright
  type HeifImage = {
    is_primary(): boolean
    get_width(): number
    get_height(): number
    display(into: Pixels, done: (shown: Pixels | null) => void): void
  }
  const libheif: { HeifDecoder: new () => { decode(file: Uint8Array): HeifImage[] } }
  export = libheif
}
