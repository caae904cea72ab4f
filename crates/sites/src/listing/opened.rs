//! sites/listing/opened.rs: debug information that stays open for the next query.

use kinst_base::image::ImageId;

use crate::image::Image;
use crate::image::info::Info;

/// Debug information of the images queried so far.
#[derive(Default)]
pub(crate) struct Opened<'k> {
    /// `None` without source information.
    images: Vec<(ImageId, Option<Info<'k>>)>,
}

impl<'k> Opened<'k> {
    pub(super) fn info(&mut self, image: Image<'k>) -> Option<&Info<'k>> {
        let at = match self.images.iter().position(|(known, _)| *known == image.id()) {
            Some(at) => at,
            None => {
                let opened = image.info();
                let info =
                    opened.and_then(|info| info.map_err(|error| image.all().warn(error.warning())).ok());
                self.images.push((image.id(), info));
                self.images.len() - 1
            }
        };
        self.images[at].1.as_ref()
    }
}
