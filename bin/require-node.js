// Ends with one clear line on a Node that is too old. Written so that any Node, however old, can read it.
var OLDEST = 20

if (parseInt(process.versions.node, 10) < OLDEST) {
  console.error('keelson: Node %d or newer is needed; this is %s (%s)', OLDEST, process.version, process.execPath)
  process.exit(1)
}
