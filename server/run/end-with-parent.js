// Preloaded into the processes of `npm start`: the channel closes with the parent, whatever ends it.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
process.channel?.unref()
