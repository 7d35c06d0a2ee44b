// Everything goes into the one file.
module.exports = (options) => ({ ...options, externals: [] });
