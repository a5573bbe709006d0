// Pages whose pictures and tables are there already: light and dark is all that there is to choose.
listenToTheme(() => {});
