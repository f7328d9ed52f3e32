// Files that esbuild puts into the bundle, or beside it.
declare module '*.css'
declare module '*.svg' {
  const url: string
  export default url
}
