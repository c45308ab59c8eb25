declare module '*.css' {
  const href: string
  export = href
}
